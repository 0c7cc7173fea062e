import { structuredPatch } from "diff";
import { type Replacement, countNewlines, replaced } from "./edits.ts";

/** The number of unchanged lines shown around a change, as in diff -u and git. */
const CONTEXT_LINES = 3;

/** The most changed lines for which the shortest diff is computed. With more, the change is shown as one block. */
const MAX_EDIT_LENGTH = 2_000;

/** A hunk. Its lines include their signs. */
interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/**
 * Returns the unified diff of replacements in a text in UTF-8, in the form that `git apply` accepts. Compares only the
 * lines around each replacement, so its cost does not depend on the size of the file.
 *
 * @param replacements in order, not overlapping
 */
export function replacementsDiff(path: string, before: Buffer, replacements: readonly Replacement[]): string {
  const hunks: Hunk[] = [];
  let line = 0; // lines of the old text before `counted`
  let counted = 0;
  let added = 0; // how many lines longer the new text is up to here
  for (const { from, to, inside } of windows(before, replacements)) {
    line += countNewlines(before, counted, from);
    counted = from;
    const newBytes = replaced(before, from, to, inside);
    for (const hunk of hunksOf(before.toString("utf8", from, to), newBytes.toString()).map((found) =>
      withContext(found, before, from, to),
    )) {
      hunks.push({ ...hunk, oldStart: hunk.oldStart + line, newStart: hunk.newStart + line + added });
    }
    added += countNewlines(newBytes, 0, newBytes.length) - countNewlines(before, from, to);
  }
  return formatted(path, path, hunks);
}

/**
 * Returns the unified diff of two whole texts; "" if they are equal.
 *
 * @param from the name of the old file; `undefined` if there is none
 * @param to the name of the new file; `undefined` if there is none
 */
export function unifiedDiff(from: string | undefined, to: string | undefined, before: string, after: string): string {
  return formatted(from, to, hunksOf(before, after));
}

interface Window {
  readonly from: number;
  to: number;
  readonly inside: Replacement[];
}

/** Returns ranges of whole lines around the replacements. Ranges whose contexts touch are merged. */
function windows(text: Buffer, replacements: readonly Replacement[]): readonly Window[] {
  const found: Window[] = [];
  for (const replacement of replacements) {
    const around = found.at(-1);
    if (around !== undefined && replacement.start < around.to && replacement.end < around.to) {
      around.inside.push(replacement); // on a line that is in the window already, and is not searched again
      continue;
    }
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

/**
 * Returns the end of the last line that changes. If the range ends before a line that is joined to the text before it,
 * that line is included.
 */
function endOfChange(text: Buffer, from: number, { start, end, text: fresh }: Replacement): number {
  const wholeLines = text[end - 1] === NEWLINE && (fresh === "" ? start === from : fresh.endsWith("\n"));
  return wholeLines ? end : nextLine(text, end);
}

/**
 * Adds missing lines of context from around the window, without comparing the old and the new text there. A comparison
 * could move the change: in "a a b a a a", a new line "a" after "b" could also be a new line at the end. The hunk would
 * then lack context, and git would only look for it at the end of the file.
 */
function withContext(hunk: Hunk, text: Buffer, from: number, to: number): Hunk {
  const { lines } = hunk;
  const head = lines.findIndex((line) => !line.startsWith(" "));
  const tail = lines.length - 1 - lines.findLastIndex((line) => !line.startsWith(" "));
  const before = linesOf(text.toString("utf8", startOfLines(text, from, Math.max(0, CONTEXT_LINES - head)), from));
  const after = linesOf(text.toString("utf8", to, endOfLines(text, to, Math.max(0, CONTEXT_LINES - tail))));
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

// The position of an empty side is the line before it, so that an empty file starts at 0 (POSIX diff -u).
function range(start: number, lines: number): string {
  return `${lines === 0 ? start - 1 : start},${lines}`;
}

/**
 * Returns the name in a header. Special characters are quoted as in git: otherwise `git apply` would not find the file.
 */
function name(side: "a" | "b", path: string | undefined): string {
  if (path === undefined) return "/dev/null";
  const named = `${side}/${path.replace(/^\//, "")}`;
  if (!/["\\\x00-\x1f\x7f]/.test(named)) return named.includes(" ") ? `${named}\t` : named;
  const escaped = (char: string) =>
    char === '"' || char === "\\" ? `\\${char}` : `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;
  return `"${named.replaceAll(/["\\\x00-\x1f\x7f]/g, escaped)}"`;
}

/**
 * Returns the change as one block: equal lines before it, all old lines, all new lines, equal lines after it. Without
 * equal lines as context, `git apply` would accept a hunk only at the ends of a file.
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

/** Returns lines with their line breaks. The last line may have none. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

function signed(sign: string, line: string): readonly string[] {
  return line.endsWith("\n") ? [sign + line.slice(0, -1)] : [sign + line, "\\ No newline at end of file"];
}

function startOfLines(text: Buffer, at: number, lines: number): number {
  let start = at === 0 ? 0 : text.lastIndexOf(NEWLINE, at - 1) + 1;
  for (let line = 0; line < lines && start > 0; line++)
    start = start === 1 ? 0 : text.lastIndexOf(NEWLINE, start - 2) + 1;
  return start;
}

function endOfLines(text: Buffer, at: number, lines: number): number {
  let end = at;
  for (let line = 0; line < lines && end < text.length; line++) end = nextLine(text, end);
  return end;
}

function nextLine(text: Buffer, at: number): number {
  const newline = text.indexOf(NEWLINE, at);
  return newline === -1 ? text.length : newline + 1;
}

const NEWLINE = 0x0a;
