import { signal } from "@preact/signals";
import type { Segment } from "./ansi.ts";

/** Returns the segments of each line of code; `undefined` for an unknown language, and for code that is too long. */
type Highlighter = (code: string, language: string) => readonly (readonly Segment[])[] | undefined;

const highlighter = signal<Highlighter | undefined>(undefined);
let isLoading = false;

/**
 * Returns the highlighter; `undefined` without a language, and until it is loaded, which the first call starts. The
 * calling component renders again then.
 */
export function highlighterFor(language: string | undefined): Highlighter | undefined {
  if (language === undefined) return undefined;
  if (highlighter.value === undefined && !isLoading) void load();
  return highlighter.value;
}

async function load(): Promise<void> {
  isLoading = true;
  try {
    const { colouredCode } = await import("../../src/core/util/coloured-code.ts");
    highlighter.value = (code, language) =>
      colouredCode(code, language)?.map((line) =>
        line.map(({ text, kind }) => ({ text, look: kind === undefined ? "" : `c-${kind}` })),
      );
  } catch {
    isLoading = false; // the next code tries again
  }
}

/** Returns the language of a file by its name, as its extension: "ts". */
export function languageOf(path: unknown): string | undefined {
  if (typeof path !== "string") return undefined;
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return name === "makefile" ? name : /\.(\w+)$/.exec(name)?.[1];
}
