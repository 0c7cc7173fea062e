import { terminalSafe } from "../../output/terminal-text.ts";
import { wrapped } from "./wrap.ts";

/** Draws text while it arrives. */
export interface TextStream {
  /** Adds a piece. Returns the lines that are finished. */
  add(text: string): readonly string[];
  /** The unfinished end, in rows that fit. */
  live(): readonly string[];
  /** Ends the text, and returns its last lines. */
  end(): readonly string[];
}

/** @param columns returns the width of the terminal */
export function textStream(columns: () => number): TextStream {
  let rest = "";
  const rows = (line: string) => wrapped(terminalSafe(line), columns());
  return {
    add(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      return lines.flatMap(rows);
    },
    live: () => (rest === "" ? [] : rows(rest)),
    end() {
      const last = rest;
      rest = "";
      return last === "" ? [] : rows(last);
    },
  };
}
