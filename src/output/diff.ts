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
  }) ?? { hunks: [blockHunk(linesOf(before), linesOf(after))] };
  const body = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    const header = `@@ -${range(oldStart, oldLines, skipped)} +${range(newStart, newLines, skipped)} @@`;
    return [header, ...lines].join("\n");
  });
  return [`--- ${headerName("a", path)}`, `+++ ${headerName("b", path)}`, ...body, ""].join("\n");
}

// An empty side is counted from the line before it, so that an empty file starts at 0 (POSIX diff -u).
function range(start: number, lines: number, skipped: number): string {
  return `${(lines === 0 ? start - 1 : start) + skipped},${lines}`;
}

/** All that differs as one block. Lines that both sides begin and end with are its context: without any, git looks for it at the end of the file. */
function blockHunk(old: readonly string[], fresh: readonly string[]) {
  const most = Math.min(old.length, fresh.length);
  let same = 0;
  while (same < most && old[same] === fresh[same]) same++;
  let sameEnd = 0;
  while (sameEnd < most - same && old.at(-1 - sameEnd) === fresh.at(-1 - sameEnd)) sameEnd++;
  const above = old.slice(Math.max(0, same - CONTEXT_LINES), same);
  const below = old.slice(old.length - sameEnd).slice(0, CONTEXT_LINES);
  const removed = old.slice(same, old.length - sameEnd);
  const added = fresh.slice(same, fresh.length - sameEnd);
  const start = same - above.length + 1;
  const context = above.length + below.length;
  return {
    oldStart: start,
    oldLines: context + removed.length,
    newStart: start,
    newLines: context + added.length,
    lines: [...marked(" ", above), ...marked("-", removed), ...marked("+", added), ...marked(" ", below)],
  };
}

/** Lines with their line feeds. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function marked(sign: string, lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + line, "\\ No newline at end of file"],
  );
}

/** The name as git writes it: quoted like in C where a reader of the patch would take it apart, ended with a tab where it has blanks. */
function headerName(side: "a" | "b", path: string): string {
  const name = `${side}/${path.replace(/^\/+/, "")}`;
  if (/["\\\x00-\x1f\x7f]/.test(name)) return `"${name.replace(/["\\\x00-\x1f\x7f]/g, quoted)}"`;
  return name.includes(" ") ? `${name}\t` : name;
}

function quoted(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  return `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`;
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
