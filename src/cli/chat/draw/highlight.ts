import { type CodeKind, colouredCode } from "../../../core/util/coloured-code.ts";
import type { Look } from "./paint.ts";
import type { Highlight } from "./render.ts";

const LOOKS: Readonly<Record<CodeKind, Look>> = {
  comment: "dim",
  keyword: "magenta",
  string: "green",
  number: "yellow",
  name: "blue",
  type: "cyan",
  deletion: "red",
};

/** Colours code in the colours of the terminal. */
export const highlight: Highlight = (code, language) =>
  colouredCode(code, language)?.map((line) =>
    line.map(({ text, kind }) => ({ text, ...(kind !== undefined && { looks: [LOOKS[kind]] }) })),
  );
