import type { FileEntry } from "../../core/contract/backend.ts";
import type { PlainWord } from "./script.ts";

/** How many comparisons of characters the patterns of one script may take, and how many names they may match. */
const MOST_STEPS = 250_000;
const STEPS_A_NAME = 10;
const MOST_NAMES = 1_000;

export interface Pattern {
  /** The folder, with its slash; "" for the working folder. */
  readonly folder: string;
  /** The pattern of the names in the folder, in UTF-16 code units; `STAR` and `ANY` among them. */
  readonly name: readonly number[];
}

const STAR = -1;
const ANY = -2;

export function readPattern({ value, wildcards = [] }: PlainWord): Pattern | string {
  const start = value.lastIndexOf("/") + 1;
  if (wildcards.some((at) => at < start)) return `${JSON.stringify(value)} has a wildcard before its last "/"`;
  const wild = new Set(wildcards);
  const name: number[] = [];
  for (let at = start; at < value.length; at++) {
    const next = !wild.has(at) ? value.charCodeAt(at) : value[at] === "*" ? STAR : ANY;
    if (next !== STAR || name.at(-1) !== STAR) name.push(next);
  }
  if (matches(name, ".", newBudget()) || matches(name, "..", newBudget()))
    return `${JSON.stringify(value)} may match ".", or the folder above`;
  return { folder: value.slice(0, start), name };
}

export const newBudget = () => ({ steps: MOST_STEPS, names: MOST_NAMES });
type Budget = ReturnType<typeof newBudget>;

/** The entries that a pattern matches, in byte order; dot names only if it has a dot. A string: why not. */
export function matching(
  { name }: Pattern,
  entries: readonly FileEntry[],
  budget: Budget,
): readonly FileEntry[] | string {
  const found: FileEntry[] = [];
  for (const entry of entries) {
    budget.steps -= STEPS_A_NAME;
    const isMatch = matches(name, entry.name, budget);
    if (budget.steps < 0) return "its patterns take too long to match";
    if (!isMatch) continue;
    if (/^-|[\p{Cc}\ufffd]/u.test(entry.name)) return `${JSON.stringify(entry.name)} is not a plain file name`;
    found.push(entry);
    budget.names -= 1;
    if (budget.names < 0) return `its patterns match more than ${MOST_NAMES} names`;
  }
  return found.sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
}

const DOT = 0x2e;

/** Compares with two pointers: a mismatch goes back only to the last star. Only stars skip half a surrogate pair. */
function matches(pattern: readonly number[], name: string, budget: Budget): boolean {
  if (name.charCodeAt(0) === DOT && pattern[0] !== DOT) return false;
  let at = 0;
  let inName = 0;
  let star = -1;
  let afterStar = 0;
  while (inName < name.length) {
    if (budget.steps-- < 0) return false;
    const wanted = pattern[at];
    if (wanted === STAR) {
      star = at++;
      afterStar = inName;
    } else if (wanted === ANY) {
      at += 1;
      inName += (name.codePointAt(inName) ?? 0) > 0xffff ? 2 : 1;
    } else if (wanted === name.charCodeAt(inName)) {
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
