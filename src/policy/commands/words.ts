import type { Finding } from "./spec.ts";
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

/**
 * A program that is run from a file: a path that is read. Ordinary work, unless it is read from stdin or from what only looks like a file:
 * then it is text that nobody has seen.
 */
export function programFile(word: Word, owner: string): readonly Finding[] {
  const why = `${owner} runs a program: ${word.text}`;
  const risk: Finding = { kind: "risk", risk: "medium", why, ordinary: isFileName(word) };
  return word.value === "-" ? [risk] : [{ kind: "path", use: "read", word }, risk];
}

/** False of stdin, of options (`+x` is one to shells), and of what only looks like a file: `/dev/fd/63`. */
export function isFileName({ value }: Word): boolean {
  return value !== undefined && /^(?![-+]|\/(dev|proc)\/)/.test(value);
}

/** Whether a file that a shell takes over is the one by which a Python environment puts itself on the PATH; it stays where it is. */
export function activates([file, ...more]: readonly Word[]): boolean {
  return more.length === 0 && /(^|\/)\.?venv\/bin\/activate$/.test(file?.value ?? "");
}
