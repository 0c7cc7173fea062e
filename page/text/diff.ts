import type { Segment } from "./ansi.ts";

/** A line of a drawn diff. */
export type DiffLine =
  | { readonly kind: "gap"; readonly text: string }
  | {
      readonly kind: "added" | "removed" | "same";
      /** Line numbers; absent on the side without the line. */
      readonly before?: number;
      readonly after?: number;
      readonly parts: readonly DiffPart[];
    };

export interface DiffPart {
  readonly text: string;
  readonly isChanged: boolean;
  /** Class names. */
  readonly look?: string;
}

type Row = Exclude<DiffLine, { kind: "gap" }>;

/** How many added lines each removed line is compared with. */
const MOST_TRIED = 20;
/** Longer lines are cut. In characters. */
const MAX_LINE = 2_000;

/** Parses a unified diff of one file. Drops file headers; keeps lines that are not part of a diff. */
export function parseDiff(text: string): readonly DiffLine[] {
  const rows: DiffLine[] = [];
  let [before, after, isFirst] = [0, 0, true];
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const [, from, to] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? [];
    if (from !== undefined && to !== undefined) {
      [before, after] = [Number(from), Number(to)];
      if (!isFirst) rows.push({ kind: "gap", text: "" });
      isFirst = false;
      continue;
    }
    if (isFirst && /^(?:---|\+\+\+|diff|index|===) ?/.test(line)) continue;
    const parts = [{ text: line.slice(1, MAX_LINE), isChanged: false }];
    if (line.startsWith("+")) rows.push({ kind: "added", after: after++, parts });
    else if (line.startsWith("-")) rows.push({ kind: "removed", before: before++, parts });
    else if (line.startsWith(" ") || line === "") rows.push({ kind: "same", before: before++, after: after++, parts });
    else rows.push({ kind: "gap", text: line.slice(0, MAX_LINE) });
  }
  return marked(rows);
}

/** Pairs removed lines with similar added lines after them, in order, and marks the differences. */
function marked(rows: readonly DiffLine[]): readonly DiffLine[] {
  const result = [...rows];
  for (let start = 0; start < rows.length; start += 1) {
    if (rows[start]?.kind !== "removed") continue;
    let middle = start;
    while (rows[middle]?.kind === "removed") middle += 1;
    let end = middle;
    while (rows[end]?.kind === "added") end += 1;
    let next = middle;
    for (let index = start; index < middle; index += 1) {
      for (let other = next; other < Math.min(end, next + MOST_TRIED); other += 1) {
        const [old, fresh] = [rows[index] as Row, rows[other] as Row];
        const parts = differing(old.parts[0]?.text ?? "", fresh.parts[0]?.text ?? "");
        if (parts === undefined) continue;
        result[index] = { ...old, parts: parts[0] };
        result[other] = { ...fresh, parts: parts[1] };
        next = other + 1;
        break;
      }
    }
    start = end - 1;
  }
  return result;
}

/**
 * Marks the differing whole words between the common beginning and the common end. Returns `undefined` for lines with
 * little in common.
 */
function differing(one: string, other: string): readonly [readonly DiffPart[], readonly DiffPart[]] | undefined {
  const [left, right] = [wordsOf(one), wordsOf(other)];
  let head = 0;
  while (head < Math.min(left.length, right.length) && left[head] === right[head]) head += 1;
  let tail = 0;
  const most = Math.min(left.length, right.length) - head;
  while (tail < most && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const same = [...left.slice(0, head), ...(tail > 0 ? left.slice(-tail) : [])].join("").trim().length;
  if (same * 3 < Math.max(one.trim().length, other.trim().length)) return undefined;
  const parts = (words: readonly string[]): readonly DiffPart[] => {
    const cut = words.length - tail;
    const pieces = [words.slice(0, head), words.slice(head, cut), words.slice(cut)].map((piece) => piece.join(""));
    return pieces.map((text, index) => ({ text, isChanged: index === 1 })).filter(({ text }) => text !== "");
  };
  return [parts(left), parts(right)];
}

function wordsOf(line: string): readonly string[] {
  return line.match(/\w+|\s+|[^\w\s]/g) ?? [];
}

/** Colours the lines of a diff: the old ones and the new ones are highlighted as two files. */
export function coloured(
  lines: readonly DiffLine[],
  highlight: (code: string) => readonly (readonly Segment[])[] | undefined,
): readonly DiffLine[] {
  const segments = new Map<DiffLine, readonly Segment[]>();
  for (const side of ["removed", "added"]) {
    const rows = lines.filter((line): line is Row => line.kind === side || line.kind === "same");
    const code = rows.map(({ parts }) => parts.map(({ text }) => text).join(""));
    const found = highlight(code.join("\n")) ?? [];
    for (const [index, row] of rows.entries()) segments.set(row, found[index] ?? []);
  }
  return lines.map((line) => {
    const found = segments.get(line);
    return line.kind === "gap" || found === undefined || found.length === 0
      ? line
      : { ...line, parts: split(line.parts, found) };
  });
}

/** Splits the parts of a line where its look changes. */
function split(parts: readonly DiffPart[], segments: readonly Segment[]): readonly DiffPart[] {
  const pieces: DiffPart[] = [];
  let [index, used] = [0, 0];
  for (const { text, isChanged } of parts) {
    for (let at = 0; at < text.length;) {
      const { text: whole = text, look = "" } = segments[index] ?? {};
      const piece = text.slice(at, at + whole.length - used);
      pieces.push({ text: piece, isChanged, look });
      [at, used] = [at + piece.length, used + piece.length];
      if (used >= whole.length) [index, used] = [index + 1, 0];
    }
  }
  return pieces;
}
