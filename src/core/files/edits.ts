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
 * Time and memory grow with the file and the texts, not with their product.
 *
 * @throws ToolFailure when an edit's text does not occur, occurs more than once without `replace_all`, or stays the
 * same, when two edits overlap, and when it would take too much (`MOST_PLACES`, `MOST_BYTES`, `MOST_COMPARED`).
 * Nothing must be changed then.
 */
export function locateEdits(original: Buffer, edits: readonly Edit[], path: string): readonly Replacement[] {
  const located = edits.map((edit, index) =>
    locate(original, edit, path, edits.length > 1 ? `edit ${index + 1}: ` : ""),
  );
  let added = 0;
  for (const place of located.flat()) added += place.text.length;
  if (original.length + added > MOST_BYTES) throw tooMuch(`${path} would have more than ${MOST_BYTES} bytes`);
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

/** The most places that one edit replaces, and are counted without `replace_all`. */
const MOST_PLACES = 100_000;
const MOST_COUNTED = 1_000;
/** The largest text after an edit, in bytes: what a file that is edited may have. */
const MOST_BYTES = 128 * 1024 * 1024;
/** How many bytes are compared for one text with line breaks, above those of the file. */
const MOST_COMPARED = 32 * 1024 * 1024;

function tooMuch(what: string): ToolFailure {
  return new ToolFailure(`${what}; nothing was changed`, {
    hint: "Make old_text longer, or change the file with a command.",
  });
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
  const places = findAll(original, old_text, replace_all ? "apart" : "each");
  if (places.length === 0) {
    throw new ToolFailure(`${which}old_text was not found in ${path}`, {
      hint: nearestPlace(original.toString(), old_text),
    });
  }
  if (places.length > 1 && !replace_all) {
    const lines = places.slice(0, 10).map(({ start }) => lineAt(original, start));
    const more = places.length > 10 ? ", …" : "";
    const times = places.length >= MOST_COUNTED ? `at least ${MOST_COUNTED} times` : plural(places.length, "time");
    throw new ToolFailure(`${which}old_text occurs ${times} in ${path}: on lines ${lines.join(", ")}${more}`, {
      hint: "Add lines before or after it until it occurs once, or set replace_all to replace every occurrence.",
    });
  }
  if (places.length > MOST_PLACES) throw tooMuch(`${which}old_text occurs more than ${MOST_PLACES} times in ${path}`);
  if (places.length * new_text.length > MOST_BYTES)
    throw tooMuch(`${which}${path} would have more than ${MOST_BYTES} bytes`);
  const freshAt = freshTexts(original, old_text, new_text);
  const replacements = places
    .map((place) => ({ ...place, text: freshAt(place) }))
    .filter(({ start, end, text }) => text !== original.toString("utf8", start, end));
  if (replacements.length === 0) {
    throw new ToolFailure(`${which}old_text and new_text are the same: there is nothing to change in ${path}`);
  }
  return replacements;
}

interface Occurrence {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the places, at most one more than `MOST_PLACES`. "each": also overlapping ones, which are as ambiguous as
 * separate ones, at most `MOST_COUNTED`. "apart": those that do not overlap an earlier one.
 */
function findAll(text: Buffer, wanted: string, which: "each" | "apart"): readonly Occurrence[] {
  const places: Occurrence[] = [];
  const most = which === "each" ? MOST_COUNTED : MOST_PLACES + 1;
  const [first = Buffer.alloc(0), ...rest] = wanted.split(/\r?\n/).map((line) => Buffer.from(line));
  let compared = 0;
  let free = 0; // where the last place ends
  // The other lines must follow at once, after whichever line break the file has there.
  for (const at of first.length > 0 ? starts(text, first) : lineBreakStarts(text)) {
    if (which === "apart" && at < free) continue;
    const from = at + first.length;
    const { end, read } = rest.length === 0 ? { end: from, read: 0 } : endOfLines(text, from, rest);
    compared += read;
    if (compared > MOST_COMPARED) throw tooMuch("old_text repeats itself too often to be searched");
    if (end === undefined) continue;
    places.push({ start: at, end });
    free = end;
    if (places.length === most) break;
  }
  return places;
}

/** How long a text is, in bytes, for which the search of the runtime is as good as linear. */
const SHORT = 64;

/**
 * Every place of some bytes, also overlapping ones, in order. Takes time that grows with the text (Knuth, Morris,
 * Pratt).
 */
function* starts(text: Buffer, wanted: Buffer): Generator<number> {
  if (wanted.length <= SHORT) {
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) yield at;
    return;
  }
  const backs = new Uint32Array(wanted.length); // how many bytes still match where the next one does not
  for (let at = 1, length = 0; at < wanted.length; at++) {
    while (length > 0 && wanted[at] !== wanted[length]) length = backs[length - 1] ?? 0;
    if (wanted[at] === wanted[length]) length++;
    backs[at] = length;
  }
  for (let at = 0, length = 0; at < text.length; at++) {
    while (length > 0 && text[at] !== wanted[length]) length = backs[length - 1] ?? 0;
    if (text[at] === wanted[length]) length++;
    if (length < wanted.length) continue;
    yield at - length + 1;
    length = backs[length - 1] ?? 0;
  }
}

/** Where each line break begins. */
function* lineBreakStarts(text: Buffer): Generator<number> {
  for (let at = text.indexOf(NEWLINE); at !== -1; at = text.indexOf(NEWLINE, at + 1))
    yield text[at - 1] === CARRIAGE_RETURN ? at - 1 : at;
}

/** Where lines end that follow a place; `undefined`: they do not. `read`: how many bytes were compared. */
function endOfLines(
  text: Buffer,
  from: number,
  lines: readonly Buffer[],
): { readonly end?: number; readonly read: number } {
  let at = from;
  for (const line of lines) {
    if (text[at] === CARRIAGE_RETURN && text[at + 1] === NEWLINE) at += 2;
    else if (text[at] === NEWLINE) at += 1;
    else return { read: at - from };
    if (line.length > 0 && !text.subarray(at, at + line.length).equals(line)) return { read: at - from + line.length };
    at += line.length;
  }
  return { end: at, read: at - from };
}

/**
 * Returns a function for the new text at a place; places in order. Lines at the beginning and end that `old_text` and
 * `new_text` share are taken from the file.
 */
function freshTexts(original: Buffer, old_text: string, new_text: string): (place: Occurrence) => string {
  const old = linesOf(old_text);
  const fresh = linesOf(new_text);
  const most = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < most && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail++;
  const changed = fresh.slice(head, fresh.length - tail).join("");
  const withBreaks = { "\n": changed, "\r\n": withLineBreak(changed, "\r\n") };
  const lineBreakAt = lineBreaks(original);
  return ({ start, end }) => {
    if (head === 0 && tail === 0) return withBreaks[changed.includes("\n") ? lineBreakAt(start) : "\n"];
    const there = linesOf(original.toString("utf8", start, end)); // as many as `old_text` has
    const before = there.slice(0, head).join("");
    const place = there.length > head + tail ? start + Buffer.byteLength(before) : start;
    return before + withBreaks[lineBreakAt(place)] + there.slice(there.length - tail).join("");
  };
}

/** Returns lines with their line breaks. The last line may have none. */
function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(/(?<=\n)/);
}

/**
 * Returns a function for the line break used at a place: the next one, otherwise the last one of the text, otherwise
 * "\n". A line is searched once for all places in it.
 */
function lineBreaks(text: Buffer): (place: number) => "\n" | "\r\n" {
  let from = 0;
  let next = -2; // not searched
  return (place) => {
    if (next === -2 || place < from || (next !== -1 && place > next)) {
      next = text.indexOf(NEWLINE, place);
      from = place;
    }
    const at = next === -1 ? text.lastIndexOf(NEWLINE, place) : next;
    if (next === -1) from = Math.min(from, place);
    return text[at - 1] === CARRIAGE_RETURN ? "\r\n" : "\n";
  };
}

/** Replaces line breaks. A "\r\n" that the model wrote is kept. */
function withLineBreak(text: string, lineBreak: "\n" | "\r\n"): string {
  return lineBreak === "\n" ? text : text.replaceAll(/(?<!\r)\n/g, "\r\n");
}

/** Returns the line number of a place, from 1. */
function lineAt(text: Buffer, at: number): number {
  return countNewlines(text, 0, at) + 1;
}
