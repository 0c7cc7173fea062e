import { distance } from "fastest-levenshtein";
import { clip } from "../util/text.ts";

/** The maximum number of searched lines: reporting an error must not take longer than an edit. */
const MAX_LINES = 200_000;

/** The maximum number of lines shown of the nearest place. */
const MAX_SHOWN = 12;

/** The maximum number of candidates, and of characters per line, that are compared by letters. */
const MAX_CANDIDATES = 2_000;
const MAX_COMPARED = 200;

/** How often a line may occur. More frequent lines do not help to find a place. */
const MAX_REPEATS = 10;

/** How many characters are shown of a differing line, and how many of them before the difference. */
const SHOWN_OF_LINE = 100;
const SHOWN_BEFORE = 40;

/**
 * Returns where a file is most similar to a text that it does not contain: the lines with their numbers, and the
 * difference. For the hint of a failed edit.
 */
export function nearestPlace(text: string, wanted: string): string {
  const lines = text.split(/\r?\n/, MAX_LINES);
  const allWanted = wanted.split(/\r?\n/);
  const wantedLines = trimBlank(allWanted);
  const start =
    wantedLines.length === 0 ? undefined : (byEqualLines(lines, wantedLines) ?? byLetters(lines, wantedLines));
  if (start === undefined) return "No similar text was found. Read the file again and copy the text from it.";
  const found = lines.slice(start, start + wantedLines.length);
  const shown = found.slice(0, MAX_SHOWN).map((line, index) => `${start + index + 1}: ${clip(line, 200)}`);
  const rest = found.length > MAX_SHOWN ? [`… ${found.length - MAX_SHOWN} more`] : [];
  const where = found.length === 1 ? `line ${start + 1}` : `lines ${start + 1}-${start + found.length}`;
  const skipped = allWanted.findIndex((line) => line.trim() !== "");
  return [`The most similar text is at ${where}:`, ...shown, ...rest, difference(found, wantedLines, skipped)].join(
    "\n",
  );
}

/**
 * Describes the first difference in a sentence.
 *
 * @param skipped how many blank lines of old_text precede the wanted lines
 */
function difference(found: readonly string[], wanted: readonly string[], skipped: number): string {
  const at = wanted.findIndex((line, index) => line !== found[index]);
  if (at === -1) return "The lines are the same except for blank lines or spaces around them.";
  const [is = "", should = ""] = [found[at], wanted[at]];
  let column = 0;
  while (is[column] === should[column]) column++;
  if (/[\uD800-\uDBFF]/.test(is.charAt(column - 1))) column--; // two characters with the same first half
  const inSpaces = is.trim() === should.trim();
  const betweenWords = is.replaceAll(/\s+/g, " ") === should.replaceAll(/\s+/g, " ");
  const how = inSpaces ? " in its leading or trailing spaces" : betweenWords ? " in spaces between words" : "";
  const line = `Line ${skipped + at + 1} of old_text differs${how}`;
  return (
    `${line}: the file has ${shownFrom(is, column)}, old_text ` +
    `${shownFrom(should, column)}${lookAlikes(is, should, column)}.`
  );
}

/** Returns the part of a line around the first difference. */
function shownFrom(line: string, column: number): string {
  const from = column < SHOWN_OF_LINE ? 0 : column - SHOWN_BEFORE;
  return JSON.stringify((from === 0 ? "" : "…") + clip(line.slice(from), SHOWN_OF_LINE));
}

/** Returns the code points of the two characters if one is not ASCII, because they may look the same. */
function lookAlikes(is: string, should: string, column: number): string {
  const [one, other] = [is, should].map((line) => line.codePointAt(column));
  if (one === undefined || other === undefined || (one < 128 && other < 128)) return "";
  return ` (${codePoint(one)}, not ${codePoint(other)})`;
}

function codePoint(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Returns the start at which the most lines are equal, ignoring spaces around them; `undefined` if none is. */
function byEqualLines(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of wanted.entries()) {
    const key = line.trim();
    // A line like "}" does not identify a place.
    const known = places.get(key) ?? [];
    if (key.length > 2 && known.length < MAX_REPEATS) places.set(key, [...known, index]);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    for (const offset of places.get(line.trim()) ?? []) votes.set(index - offset, (votes.get(index - offset) ?? 0) + 1);
  }
  let best: number | undefined;
  let most = 0;
  for (const [start, count] of votes) {
    if (start >= 0 && count > most) [best, most] = [start, count];
  }
  return best;
}

/** Returns the line most similar to the longest wanted line, if at least half of its letters are the same. */
function byLetters(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const longest = wanted.reduce(
    (most, line, index) => (line.trim().length > (wanted[most] ?? "").trim().length ? index : most),
    0,
  );
  const target = (wanted[longest] ?? "").trim().slice(0, MAX_COMPARED);
  if (target.length < 3) return undefined;
  const words = target.split(/\W+/).filter((word) => word.length > 2);
  let candidates = 0;
  let best: { start: number; away: number } | undefined;
  for (const [index, line] of lines.entries()) {
    const compared = line.trim().slice(0, MAX_COMPARED);
    if (Math.abs(compared.length - target.length) > target.length / 2) continue;
    if (words.length > 0 && !words.some((word) => compared.includes(word))) continue;
    if (++candidates > MAX_CANDIDATES) break;
    const away = distance(compared, target);
    if (away <= target.length / 2 && (best === undefined || away < best.away))
      best = { start: Math.max(0, index - longest), away };
  }
  return best?.start;
}

function trimBlank(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  const last = lines.findLastIndex((line) => line.trim() !== "");
  return first === -1 ? [] : lines.slice(first, last + 1);
}
