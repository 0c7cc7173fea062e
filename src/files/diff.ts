import { structuredPatch } from "diff";
import type { Replacement } from "./edits.ts";

/** Lines shown around a change, as diff -u and git do. */
const CONTEXT_LINES = 3;

/** Beyond this many changed lines the shortest diff takes too long; a change is then shown as one block. */
const MAX_EDIT_LENGTH = 2_000;

/** A hunk, lines with their signs. */
interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/**
 * The unified diff of replacements in a text, as `git apply` takes it. Made from the lines around each replacement alone, so that its
 * cost does not grow with the file. `replacements` are in order and do not overlap.
 */
export function replacementsDiff(path: string, before: string, replacements: readonly Replacement[]): string {
  const hunks: Hunk[] = [];
  let line = 0; // lines of the old text before `counted`
  let counted = 0;
  let added = 0; // by how many lines the new text is longer up to here
  for (const { from, to, inside } of windows(before, replacements)) {
    line += countNewlines(before, counted, from);
    counted = from;
    const oldText = before.slice(from, to);
    const newText = replaced(before, from, to, inside);
    for (const hunk of hunksOf(oldText, newText).map((found) => withContext(found, before, from, to))) {
      hunks.push({ ...hunk, oldStart: hunk.oldStart + line, newStart: hunk.newStart + line + added });
    }
    added += countNewlines(newText, 0, newText.length) - countNewlines(oldText, 0, oldText.length);
  }
  return formatted(path, path, hunks);
}

/** The unified diff of two whole texts; "" when they are the same. `from` and `to` name them; `undefined`: the file is not there. */
export function unifiedDiff(from: string | undefined, to: string | undefined, before: string, after: string): string {
  return formatted(from, to, hunksOf(before, after));
}

/** A stretch of the text with the replacements made that lie in it. */
export function replaced(text: string, from: number, to: number, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let at = from;
  for (const { start, end, text: fresh } of replacements) {
    parts.push(text.slice(at, start), fresh);
    at = end;
  }
  parts.push(text.slice(at, to));
  return parts.join("");
}

interface Window {
  readonly from: number;
  to: number;
  readonly inside: Replacement[];
}

/** Stretches of whole lines; those whose contexts touch are one. */
function windows(text: string, replacements: readonly Replacement[]): readonly Window[] {
  const found: Window[] = [];
  for (const replacement of replacements) {
    const from = startOfLines(text, replacement.start, 0);
    const to = endOfChange(text, from, replacement);
    const last = found.at(-1);
    if (last !== undefined && startOfLines(text, from, CONTEXT_LINES) <= endOfLines(text, last.to, CONTEXT_LINES)) {
      last.to = Math.max(last.to, to);
      last.inside.push(replacement);
    } else found.push({ from, to, inside: [replacement] });
  }
  return found;
}

function hunksOf(before: string, after: string): readonly Hunk[] {
  if (before === after) return [];
  const patch = structuredPatch("", "", before, after, "", "", {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDIT_LENGTH,
  });
  return patch === undefined ? [wholeHunk(before, after)] : patch.hunks;
}

/** The end of the last line that changes: where the stretch ends before a line, that is joined to what comes to stand before it. */
function endOfChange(text: string, from: number, { start, end, text: fresh }: Replacement): number {
  const wholeLines = text[end - 1] === "\n" && (fresh === "" ? start === from : fresh.endsWith("\n"));
  return wholeLines ? end : nextLine(text, end);
}

/**
 * A hunk of the window with the lines around the window that it lacks. They are not compared, only added: in "a a b a a a" a new line
 * "a" behind "b" is as well one at the end, where the hunk would end without context, and git then looks for it at the file's end.
 */
function withContext(hunk: Hunk, text: string, from: number, to: number): Hunk {
  const { lines } = hunk;
  const head = lines.findIndex((line) => !line.startsWith(" "));
  const tail = lines.length - 1 - lines.findLastIndex((line) => !line.startsWith(" "));
  const before = linesOf(text.slice(startOfLines(text, from, Math.max(0, CONTEXT_LINES - head)), from));
  const after = linesOf(text.slice(to, endOfLines(text, to, Math.max(0, CONTEXT_LINES - tail))));
  return {
    oldStart: hunk.oldStart - before.length,
    oldLines: hunk.oldLines + before.length + after.length,
    newStart: hunk.newStart - before.length,
    newLines: hunk.newLines + before.length + after.length,
    lines: [...before.flatMap((line) => signed(" ", line)), ...lines, ...after.flatMap((line) => signed(" ", line))],
  };
}

function formatted(from: string | undefined, to: string | undefined, hunks: readonly Hunk[]): string {
  if (hunks.length === 0) return "";
  const body = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => {
    return [`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`, ...lines].join("\n");
  });
  return [`--- ${name("a", from)}`, `+++ ${name("b", to)}`, ...body, ""].join("\n");
}

// An empty side is counted from the line before it, so that an empty file starts at 0 (POSIX diff -u).
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

/** git quotes a name with special characters like C; without that `git apply` would not find it. */
function name(side: "a" | "b", path: string | undefined): string {
  if (path === undefined) return "/dev/null";
  const named = `${side}/${path.replace(/^\//, "")}`;
  if (!/["\\\x00-\x1f\x7f]/.test(named)) return named.includes(" ") ? `${named}\t` : named;
  return `"${named.replaceAll(/["\\\x00-\x1f\x7f]/g, (char) => (char === '"' || char === "\\" ? `\\${char}` : `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`))}"`;
}

/**
 * The change as one block: what is the same around it, then all old lines and all new ones. The lines around are kept as context,
 * without which `git apply` takes a hunk only at the ends of a file.
 */
function wholeHunk(before: string, after: string): Hunk {
  const old = linesOf(before);
  const fresh = linesOf(after);
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  const from = Math.max(0, head - CONTEXT_LINES);
  const oldEnd = Math.min(old.length, old.length - tail + CONTEXT_LINES);
  const freshEnd = Math.min(fresh.length, fresh.length - tail + CONTEXT_LINES);
  return {
    oldStart: from + 1,
    oldLines: oldEnd - from,
    newStart: from + 1,
    newLines: freshEnd - from,
    lines: [
      ...old.slice(from, head).flatMap((line) => signed(" ", line)),
      ...old.slice(head, old.length - tail).flatMap((line) => signed("-", line)),
      ...fresh.slice(head, fresh.length - tail).flatMap((line) => signed("+", line)),
      ...old.slice(old.length - tail, oldEnd).flatMap((line) => signed(" ", line)),
    ],
  };
}

/** Lines with their breaks; a last one without. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function signed(sign: string, line: string): readonly string[] {
  return line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + line, "\\ No newline at end of file"];
}

function startOfLines(text: string, at: number, lines: number): number {
  let start = at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
  for (let line = 0; line < lines && start > 0; line++) start = start === 1 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  return start;
}

function endOfLines(text: string, at: number, lines: number): number {
  let end = at;
  for (let line = 0; line < lines && end < text.length; line++) end = nextLine(text, end);
  return end;
}

function nextLine(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  return newline === -1 ? text.length : newline + 1;
}

function countNewlines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf("\n", from); at !== -1 && at < to; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
