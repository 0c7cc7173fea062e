import type { Word } from "./tree.ts";

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
