import { ToolFailure } from "../contract/failure.ts";
import { plural } from "../util/text.ts";
import { nearestPlace } from "./nearest.ts";

/** A change that a model requests: an exact text, and its replacement. */
export interface Edit {
  /** Not empty. */
  readonly old_text: string;
  readonly new_text: string;
  /** Replaces every occurrence. Default: there must be only one. */
  readonly replace_all?: boolean;
}

/** A range of the original, in bytes, and its replacement with the file's own line breaks. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Finds all edits in the original, a text in UTF-8, and returns them in order of position. A line break in `old_text`
 * matches any line break ("\n", "\r\n"), and those in `new_text` become the ones used at that place. So a model that
 * only writes "\n" can edit files from Windows without mixing line breaks. Lines that `old_text` and `new_text` share
 * keep their line breaks, even if those are mixed.
 *
 * @throws ToolFailure when an edit's text does not occur, occurs more than once without `replace_all`, or stays the
 * same, and when two edits overlap. Nothing must be changed then.
 */
export function locateEdits(original: Buffer, edits: readonly Edit[], path: string): readonly Replacement[] {
  const located = edits.map((edit, index) =>
    locate(original, edit, path, edits.length > 1 ? `edit ${index + 1}: ` : ""),
  );
  const numberOf = (place: Replacement) => located.findIndex((places) => places.includes(place)) + 1;
  const ordered = located.flat().toSorted((one, other) => one.start - other.start || one.end - other.end);
  for (const [index, next] of ordered.entries()) {
    const before = ordered[index - 1];
    if (before !== undefined && next.start < before.end) {
      const [first, second] = [numberOf(before), numberOf(next)].sort((a, b) => a - b);
      throw new ToolFailure(
        `edits ${first} and ${second} overlap in ${path}, near line ${lineAt(original, next.start)}; nothing ` +
          "was changed",
        {
          hint: "Combine the two into one edit.",
        },
      );
    }
  }
  return ordered;
}

/** Returns a range of a text in UTF-8 after its replacements, which are in order. */
export function replaced(text: Buffer, from: number, to: number, replacements: readonly Replacement[]): Buffer {
  const parts: Uint8Array[] = [];
  let at = from;
  for (const { start, end, text: fresh } of replacements) {
    parts.push(text.subarray(at, start), Buffer.from(fresh));
    at = end;
  }
  parts.push(text.subarray(at, to));
  return Buffer.concat(parts);
}

/** Counts the line breaks in a range of bytes. */
export function countNewlines(text: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE, from); at !== -1 && at < to; at = text.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

function locate(
  original: Buffer,
  { old_text, new_text, replace_all = false }: Edit,
  path: string,
  which: string,
): readonly Replacement[] {
  if (old_text === "") throw new ToolFailure(`${which}old_text is empty`);
  const places = findAll(original, old_text);
  if (places.length === 0) {
    throw new ToolFailure(`${which}old_text was not found in ${path}`, {
      hint: nearestPlace(original.toString(), old_text),
    });
  }
  if (places.length > 1 && !replace_all) {
    const lines = places.slice(0, 10).map(({ start }) => lineAt(original, start));
    const more = places.length > 10 ? ", …" : "";
    throw new ToolFailure(
      `${which}old_text occurs ${plural(places.length, "time")} in ${path}: on lines ${lines.join(", ")}${more}`,
      {
        hint: "Add lines before or after it until it occurs once, or set replace_all to replace every occurrence.",
      },
    );
  }
  const replacements = apart(places)
    .map((place) => ({ ...place, text: freshText(original, place, old_text, new_text) }))
    .filter(({ start, end, text }) => text !== original.toString("utf8", start, end));
  if (replacements.length === 0) {
    throw new ToolFailure(`${which}old_text and new_text are the same: there is nothing to change in ${path}`);
  }
  return replacements;
}

/** Returns the places, without those that overlap an earlier one. */
function apart(places: readonly Occurrence[]): readonly Occurrence[] {
  let end = 0;
  return places.filter((place) => {
    if (place.start < end) return false;
    ({ end } = place);
    return true;
  });
}

interface Occurrence {
  readonly start: number;
  readonly end: number;
}

/** Returns every place, including overlapping ones: they are as ambiguous as separate ones. */
function findAll(text: Buffer, wanted: string): readonly Occurrence[] {
  const places: Occurrence[] = [];
  const [first = Buffer.alloc(0), ...rest] = wanted.split(/\r?\n/).map((line) => Buffer.from(line));
  if (rest.length === 0) {
    for (let at = text.indexOf(first); at !== -1; at = text.indexOf(first, at + 1))
      places.push({ start: at, end: at + first.length });
    return places;
  }
  // The other lines must follow at once, after whichever line break the file has there.
  for (let at = nextAtLineEnd(text, first, 0); at !== -1; at = nextAtLineEnd(text, first, at + 1)) {
    const end = endOfLines(text, at + first.length, rest);
    if (end !== undefined) places.push({ start: at, end });
  }
  return places;
}

/** Returns the next place of a line before a line break. An empty line is found at the line break itself. */
function nextAtLineEnd(text: Buffer, line: Buffer, from: number): number {
  if (line.length > 0) return text.indexOf(line, from);
  for (let at = text.indexOf(NEWLINE, from); at !== -1; at = text.indexOf(NEWLINE, at + 1)) {
    const start = text[at - 1] === CARRIAGE_RETURN ? at - 1 : at;
    if (start >= from) return start;
  }
  return -1;
}

function endOfLines(text: Buffer, from: number, lines: readonly Buffer[]): number | undefined {
  let at = from;
  for (const line of lines) {
    if (text[at] === CARRIAGE_RETURN && text[at + 1] === NEWLINE) at += 2;
    else if (text[at] === NEWLINE) at += 1;
    else return undefined;
    if (!text.subarray(at, at + line.length).equals(line)) return undefined;
    at += line.length;
  }
  return at;
}

/**
 * Returns the new text at a place. Lines at the beginning and end that `old_text` and `new_text` share are taken from
 * the file.
 */
function freshText(original: Buffer, { start, end }: Occurrence, old_text: string, new_text: string): string {
  const there = linesOf(original.toString("utf8", start, end)); // as many as `old_text` has
  const old = linesOf(old_text);
  const fresh = linesOf(new_text);
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  const before = there.slice(0, head).join("");
  const changed = fresh.slice(head, fresh.length - tail).join("");
  const place = there.length > head + tail ? start + Buffer.byteLength(before) : start;
  return before + withLineBreak(changed, lineBreakAt(original, place)) + there.slice(there.length - tail).join("");
}

/** Returns lines with their line breaks. The last line may have none. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/** Returns the line break used at a place: the next one, otherwise the previous one, otherwise "\n". */
function lineBreakAt(text: Buffer, place: number): "\n" | "\r\n" {
  const next = text.indexOf(NEWLINE, place);
  const at = next === -1 ? text.lastIndexOf(NEWLINE, place) : next;
  return text[at - 1] === CARRIAGE_RETURN ? "\r\n" : "\n";
}

/** Replaces line breaks. A "\r\n" that the model wrote is kept. */
function withLineBreak(text: string, lineBreak: "\n" | "\r\n"): string {
  return lineBreak === "\n" ? text : text.replaceAll(/(?<!\r)\n/g, "\r\n");
}

/** Returns the line number of a place, from 1. */
function lineAt(text: Buffer, at: number): number {
  return countNewlines(text, 0, at) + 1;
}
