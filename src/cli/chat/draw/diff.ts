import { diffWordsWithSpace } from "diff";
import type { Line, Look } from "./paint.ts";
import { cut, hanging, padded, safe, span } from "./text.ts";

/** One line of a diff. */
interface DiffLine {
  readonly sign: " " | "-" | "+";
  /** Its number in the old file, or in the new one if it is added. 0 if it is unknown. */
  readonly number: number;
  /** Its number in the old file. */
  readonly old: number;
  readonly text: string;
}

/** A change of one file. */
export interface Diff {
  readonly hunks: readonly (readonly DiffLine[])[];
  readonly added: number;
  readonly removed: number;
  /** True if there was no file before. */
  readonly isNew: boolean;
}

/** From this width, the old and the new lines are drawn side by side: in a window of 140 columns, less a margin. */
const SIDE_BY_SIDE = 136;
/** Words of longer lines are not compared. In characters. */
const LONGEST_COMPARED = 2_000;
/** Two lines are one changed line if so much of the shorter one is equal; else one was removed and one added. */
const ALIKE = 0.5;
/** Of more pairs of lines, only those at the same place are compared. */
const MOST_PAIRS = 200;

/**
 * Reads a unified diff, also with text before it. Of a change without line numbers, each line begins with `-` or `+`.
 * Returns `undefined` for another text.
 */
export function readDiff(text: string): Diff | undefined {
  const lines = text.replace(/\n$/, "").split("\n");
  const at = lines.findIndex((line, index) => line.startsWith("--- ") && lines[index + 1]?.startsWith("+++ "));
  if (at < 0 && !lines.every((line) => /^[-+]/.test(line))) return undefined;
  const hunks: DiffLine[][] = [];
  let [old, fresh] = [0, 0];
  for (const line of at < 0 ? ["@@ -0 +0 @@", ...lines] : lines.slice(at + 2)) {
    const [, from, to] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? [];
    const hunk = hunks.at(-1);
    if (from !== undefined && to !== undefined) {
      [old, fresh] = [Number(from), Number(to)];
      hunks.push([]);
      continue;
    }
    const sign = line.charAt(0) === "" ? " " : line.charAt(0);
    if (hunk === undefined || (sign !== " " && sign !== "-" && sign !== "+")) continue; // no newline at the end
    hunk.push({ sign, number: at < 0 ? 0 : sign === "-" ? old : fresh, old, text: line.slice(1) });
    if (sign !== "+") old += 1;
    if (sign !== "-") fresh += 1;
  }
  const count = (wanted: string) => hunks.flat().filter(({ sign }) => sign === wanted).length;
  return { hunks, added: count("+"), removed: count("-"), isNew: lines[at]?.startsWith("--- /dev/null") === true };
}

/** "+2 −1". */
export function sizeOfDiff({ added, removed }: Diff): string {
  return [...(added > 0 ? [`+${added}`] : []), ...(removed > 0 ? [`−${removed}`] : [])].join(" ");
}

/**
 * Draws a diff as a person decides on it: nothing is cut, lines that are too long continue below `⤷`. Numbers, signs
 * and changed words do not depend on colours.
 */
export function diffLines(diff: Diff, columns: number): readonly Line[] {
  const digits = String(Math.max(...diff.hunks.flat().map(({ number }) => number), 0)).length;
  const isWide = columns >= SIDE_BY_SIDE && diff.removed > 0 && diff.added > 0;
  return diff.hunks.flatMap((hunk, at) => [
    ...(at === 0 ? [] : [[span(`${" ".repeat(digits)} ⋮`, "dim")]]),
    ...(isWide
      ? pairRows(hunk, digits, columns)
      : groupsOf(hunk).flatMap((group) => groupRows(group, digits, columns))),
  ]);
}

/** Lines that stay, or that are replaced by others. */
interface Group {
  readonly removed: readonly DiffLine[];
  readonly added: readonly DiffLine[];
  readonly same?: DiffLine;
}

function groupsOf(hunk: readonly DiffLine[]): readonly Group[] {
  const groups: { removed: DiffLine[]; added: DiffLine[]; same?: DiffLine }[] = [];
  for (const line of hunk) {
    const last = groups.at(-1);
    if (line.sign === " ") groups.push({ removed: [], added: [], same: line });
    else {
      const isOpen = last !== undefined && last.same === undefined && !(line.sign === "-" && last.added.length > 0);
      const group = isOpen ? last : { removed: [], added: [] };
      if (!isOpen) groups.push(group);
      (line.sign === "-" ? group.removed : group.added).push(line);
    }
  }
  return groups;
}

function groupRows({ removed, added, same }: Group, digits: number, columns: number): readonly Line[] {
  if (same !== undefined) return rowsOf(same, context(same), digits, columns);
  const words = comparedLines(removed, added);
  return [...[...removed, ...added].flatMap((line) => rowsOf(line, words.get(line) ?? changed(line), digits, columns))];
}

/** Old lines on the left, new ones on the right; those that are alike beside each other. */
function pairRows(hunk: readonly DiffLine[], digits: number, columns: number): readonly Line[] {
  const half = Math.floor((columns - 3) / 2);
  return groupsOf(hunk).flatMap(({ removed, added, same }) => {
    const words = comparedLines(removed, added);
    const side = (line: DiffLine | undefined) =>
      line === undefined ? [] : rowsOf(line, words.get(line) ?? changed(line), digits, half);
    const stays = (number: number) => (same && rowsOf({ ...same, number }, context(same), digits, half)) ?? [];
    const pairs = same === undefined ? beside(removed, added, words) : [];
    const both = [stays(same?.old ?? 0), stays(same?.number ?? 0)] as const;
    return [both, ...pairs.map(([left, right]) => [side(left), side(right)] as const)].flatMap(([left, right]) =>
      Array.from({ length: Math.max(left.length, right.length) }, (_, row): Line => [
        ...padded(left[row] ?? [], half),
        span(" │ ", "dim"),
        ...(right[row] ?? []),
      ]),
    );
  });
}

/** Lines beside each other: lines that are alike, and between them the others from the top. */
function beside(
  removed: readonly DiffLine[],
  added: readonly DiffLine[],
  words: ReadonlyMap<DiffLine, Line>,
): readonly (readonly [DiffLine | undefined, DiffLine | undefined])[] {
  const pairs: [DiffLine | undefined, DiffLine | undefined][] = [];
  const [left, right] = [[...removed], [...added]];
  while (left.length > 0 || right.length > 0) {
    const [old, fresh] = [left[0], right[0]];
    const [isOldAlike, isFreshAlike] = [old && words.has(old), fresh && words.has(fresh)];
    const both = isOldAlike === isFreshAlike || old === undefined || fresh === undefined;
    pairs.push([both || !isOldAlike ? left.shift() : undefined, both || !isFreshAlike ? right.shift() : undefined]);
  }
  return pairs;
}

const COLOURS = { "-": "red", "+": "green" } as const;

function rowsOf({ sign, number }: DiffLine, text: Line, digits: number, columns: number): readonly Line[] {
  const name = number === 0 ? "" : String(number);
  const looks: Look[] = sign === " " ? [] : [COLOURS[sign]];
  const first = [span(`${name.padStart(digits)} `, "dim"), span(`${sign} `, ...looks)];
  const rows = cut(text, Math.max(1, columns - digits - 3));
  return hanging(rows, first, [span(`${" ".repeat(digits)} ⤷ `, "dim")]);
}

/** A line that stays. */
function context({ text }: DiffLine): Line {
  return [span(safe(text), "dim")];
}

/** A line that is new, or gone, as a whole. */
function changed({ sign, text }: DiffLine): Line {
  return [span(visible(text), ...(sign === " " ? [] : [COLOURS[sign]]))];
}

/** A tab is four columns, and is seen where lines change. */
function visible(text: string): string {
  return safe(text.replaceAll("\t", "→   "));
}

/** A changed line before and after, with the changed words marked. */
interface Compared {
  readonly old: Line;
  readonly fresh: Line;
  /** How much of the shorter line is equal: 0 to 1. */
  readonly alike: number;
}

/**
 * The lines of a change with their changed words marked: those that are alike, in order. The others are new, or gone,
 * as a whole.
 */
function comparedLines(removed: readonly DiffLine[], added: readonly DiffLine[]): ReadonlyMap<DiffLine, Line> {
  const lines = new Map<DiffLine, Line>();
  const areMany = removed.length * added.length > MOST_PAIRS;
  let next = 0;
  for (const [at, old] of removed.entries()) {
    let best: { readonly words: Compared; readonly index: number } | undefined;
    for (let index = areMany ? at : next; index < (areMany ? at + 1 : added.length); index += 1) {
      const words = compared(visible(old.text), visible(added[index]?.text ?? ""));
      if (words.alike >= ALIKE && words.alike > (best?.words.alike ?? 0)) best = { words, index };
    }
    const fresh = best && added[best.index];
    if (best === undefined || fresh === undefined) continue;
    lines.set(old, best.words.old).set(fresh, best.words.fresh);
    next = best.index + 1;
  }
  return lines;
}

function compared(old: string, fresh: string): Compared {
  if (old.length > LONGEST_COMPARED || fresh.length > LONGEST_COMPARED) return { old: [], fresh: [], alike: 0 };
  const parts = diffWordsWithSpace(old, fresh);
  const sizeOf = (text: string) => text.replaceAll(/\s/g, "").length;
  const equal = parts.reduce((sum, { value, added, removed }) => sum + (added || removed ? 0 : sizeOf(value)), 0);
  const side = (colour: Look, isOther: (part: (typeof parts)[number]) => boolean) =>
    parts
      .filter((part) => !isOther(part))
      .map(({ value, added, removed }) => span(value, ...(added || removed ? CHANGED : []), colour));
  return {
    old: side("red", ({ added }) => added),
    fresh: side("green", ({ removed }) => removed),
    alike: equal / Math.max(1, Math.min(sizeOf(old), sizeOf(fresh))),
  };
}

const CHANGED: readonly Look[] = ["bold", "underline"];
