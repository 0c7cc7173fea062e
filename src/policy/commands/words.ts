import type { Tree } from "./tree.ts";

/** A word of a script, quotes removed. */
export interface Word {
  /** As it is written. */
  readonly text: string;
  /** What it is when it runs; `undefined` when that is not known before (expansions, globs). */
  readonly value: string | undefined;
  /** What it certainly begins with: all of it when it is known. */
  readonly prefix: string;
  /** True when it may become several words, or none (unquoted expansions and globs). */
  readonly splits: boolean;
  /** The parts that are not known, as they are written, for the person asked: ["$x"]. */
  readonly unknown: readonly string[];
  /** A pattern of file names, `*`, `?` and `[…]` unquoted and everything else literal (escaped by `\`); only when nothing else is unknown. */
  readonly glob?: string;
  /** What runs in order to know it: command and process substitutions. */
  readonly scripts: readonly Tree[];
}

/** A word that is known: for words that we make ourselves. */
export function literalWord(value: string): Word {
  return { text: value, value, prefix: value, splits: false, unknown: [], scripts: [] };
}

/** A word that nothing is known of, such as what xargs adds. */
export function unknownWord(text: string): Word {
  return { text, value: undefined, prefix: "", splits: true, unknown: [text], scripts: [] };
}

/** True when it cannot be taken for an option: it certainly begins with another letter. */
export function isNoOption({ prefix, value, splits, glob }: Word): boolean {
  if (value !== undefined) return !value.startsWith("-") || value === "-";
  // All that a pattern stands for begins as it does.
  return prefix !== "" && !prefix.startsWith("-") && (!splits || glob !== undefined);
}
