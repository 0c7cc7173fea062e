import type { FileEntry } from "../../contract/backend.ts";
import type { PlainWord } from "./script.ts";

/** How many comparisons of characters the patterns of one script may take, and how many names they may match. */
const MOST_STEPS = 500_000;
const MOST_NAMES = 1_000;

/** A word with wildcards: `folder` with its slash ("" for the working folder), and what names in it are like. */
export interface Pattern {
  readonly folder: string;
  /** Code points; 0 stands for `*`, -1 for `?`. */
  readonly name: readonly number[];
}

const STAR = 0;
const ANY = -1;

/** Reads a word as a pattern. A string says why it is none that we resolve. */
export function readPattern({ value, wildcards = [] }: PlainWord): Pattern | string {
  const start = value.lastIndexOf("/") + 1;
  if (wildcards.some((at) => at < start)) return `${JSON.stringify(value)} has a wildcard before its last "/"`;
  const wild = new Set(wildcards);
  const name: number[] = [];
  for (let at = start; at < value.length; at++) {
    const code = value.codePointAt(at) ?? 0;
    const next = !wild.has(at) ? code : code === 0x2a ? STAR : ANY;
    if (next !== STAR || name.at(-1) !== STAR) name.push(next);
    if (code > 0xffff) at += 1;
  }
  if ([".", ".."].some((each) => matches(name, codesOf(each), newBudget())))
    return `${JSON.stringify(value)} may match ".", or the folder above`;
  return { folder: value.slice(0, start), name };
}

/** What the patterns of one script may still take together. */
export interface Budget {
  steps: number;
  names: number;
}

export function newBudget(): Budget {
  return { steps: MOST_STEPS, names: MOST_NAMES };
}

/**
 * The entries that a pattern matches, in the order of their bytes: names with a dot at the start only where the pattern has one too. A string
 * says why they cannot be used as words.
 */
export function matching(
  { name }: Pattern,
  entries: readonly FileEntry[],
  budget: Budget,
): readonly FileEntry[] | string {
  const found: FileEntry[] = [];
  for (const entry of entries) {
    budget.steps -= entry.name.length;
    if (!matches(name, codesOf(entry.name), budget)) {
      if (budget.steps < 0) return "its patterns take too long to match";
      continue;
    }
    if (/^-|[\p{Cc}\ufffd]/u.test(entry.name)) return `${JSON.stringify(entry.name)} is not a plain file name`;
    found.push(entry);
    budget.names -= 1;
    if (budget.names < 0) return `its patterns match more than ${MOST_NAMES} names`;
  }
  return found.sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
}

const DOT = 0x2e;

/** Compares with two pointers: only the last star is ever gone back to. */
function matches(pattern: readonly number[], name: readonly number[], budget: Budget): boolean {
  if (budget.steps < 0) return false;
  if (name[0] === DOT && pattern[0] !== DOT) return false;
  let at = 0;
  let inName = 0;
  let star = -1;
  let afterStar = 0;
  while (inName < name.length) {
    budget.steps -= 1;
    if (budget.steps < 0) return false;
    const wanted = pattern[at];
    if (wanted === STAR) {
      star = at++;
      afterStar = inName;
    } else if (at < pattern.length && (wanted === ANY || wanted === name[inName])) {
      at += 1;
      inName += 1;
    } else if (star !== -1) {
      at = star + 1;
      inName = ++afterStar;
    } else return false;
  }
  while (pattern[at] === STAR) at += 1;
  return at === pattern.length;
}

function codesOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}
