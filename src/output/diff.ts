import { structuredPatch } from "diff";

/** Lines shown around a change, as diff -u and git do. */
const CONTEXT_LINES = 3;

/** Beyond this many changed lines the shortest diff takes too long; the change is then shown as one block. */
const MAX_EDIT_LENGTH = 2_000;

/** One replaced stretch of a text. */
export interface Replacement {
  /** Where it starts, in UTF-16 units of the old text. */
  readonly start: number;
  /** Where it ends in the old text (exclusive). */
  readonly end: number;
  readonly text: string;
}

/**
 * The unified diff of one replacement, as `git apply` takes it. Made from the lines around the replacement alone, so that its cost
 * does not grow with the file.
 */
export function replacementDiff(path: string, before: string, { start, end, text }: Replacement): string {
  const from = startOfLines(before, start, CONTEXT_LINES);
  const to = endOfLines(before, end, CONTEXT_LINES);
  const oldWindow = before.slice(from, to);
  const newWindow = before.slice(from, start) + text + before.slice(end, to);
  return unifiedDiff(path, oldWindow, newWindow, countNewlines(before, from));
}

/** The unified diff of two texts that stand `skipped` lines deep in a file; "" when they are the same. */
export function unifiedDiff(path: string, before: string, after: string, skipped = 0): string {
  if (before === after) return "";
  const { hunks } = structuredPatch(path, path, before, after, "", "", {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDIT_LENGTH,
  }) ?? { hunks: [wholeHunk(before, after)] };
  const body = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    const header = `@@ -${range(oldStart, oldLines, skipped)} +${range(newStart, newLines, skipped)} @@`;
    return [header, ...lines].join("\n");
  });
  return [`--- a/${path}`, `+++ b/${path}`, ...body, ""].join("\n");
}

// An empty side is counted from the line before it, so that an empty file starts at 0 (POSIX diff -u).
function range(start: number, lines: number, skipped: number): string {
  return `${(lines === 0 ? start - 1 : start) + skipped},${lines}`;
}

function wholeHunk(before: string, after: string) {
  const old = marked("-", before);
  const fresh = marked("+", after);
  return { oldStart: 1, oldLines: old.count, newStart: 1, newLines: fresh.count, lines: [...old.lines, ...fresh.lines] };
}

function marked(sign: string, text: string): { count: number; lines: string[] } {
  if (text === "") return { count: 0, lines: [] };
  const lines = text.split("\n");
  const ended = lines.at(-1) === "";
  if (ended) lines.pop();
  const count = lines.length;
  return { count, lines: [...lines.map((line) => sign + line), ...(ended ? [] : ["\\ No newline at end of file"])] };
}

function startOfLines(text: string, at: number, lines: number): number {
  let start = text.lastIndexOf("\n", at - 1) + 1;
  if (at === 0) start = 0;
  for (let line = 0; line < lines && start > 0; line++) start = start === 1 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  return start;
}

function endOfLines(text: string, at: number, lines: number): number {
  // A stretch that ends with a line ends at the start of the next one, which then is context already.
  let end = at > 0 && text[at - 1] === "\n" ? at : nextLine(text, at);
  for (let line = 0; line < lines && end < text.length; line++) end = nextLine(text, end);
  return end;
}

function nextLine(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline + 1;
}

function countNewlines(text: string, until: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < until; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
