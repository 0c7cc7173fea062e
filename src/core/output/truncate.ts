import type { Limit } from "../contract/tool.ts";
import { LONGEST_SEQUENCE, sequenceAround } from "./escape-sequence.ts";
import {
  afterBytes,
  afterCharacters,
  afterLines,
  beforeBytes,
  beforeCharacters,
  beforeLines,
  countLines,
  isInsidePair,
} from "./measure.ts";
import { formatSize } from "./size.ts";

/** The default limit of a result for a model, in lines. */
export const DEFAULT_MAX_LINES = 2000;
/** The default limit of a result for a model, in bytes of UTF-8. */
export const DEFAULT_MAX_BYTES = 51_200;

/** The default limit. */
export const DEFAULT_LIMIT: Limit = { lines: DEFAULT_MAX_LINES, bytes: DEFAULT_MAX_BYTES };

/** The kept part of a text, and its size. */
export interface Truncation {
  /**
   * The beginning or the end of the text, or the whole text if nothing is cut. Never exceeds a limit. Not masked, even
   * if a mask was given.
   */
  readonly text: string;
  /** The limit that was hit; of several, the limit that leaves the least. `false` if nothing is cut. */
  readonly truncated: false | keyof Limit;
  /** The limit that was applied. */
  readonly limit: Limit;
  /** True if the cut is inside a line: the first or last shown line is incomplete. */
  readonly insideLine: boolean;
  /** Lines of `text`, including an incomplete one. A final newline ends a line and starts none; "" has 0 lines. */
  readonly shownLines: number;
  readonly totalLines: number;
  /** Bytes of `text` in UTF-8. A lone surrogate has 3, as in a Buffer. */
  readonly shownBytes: number;
  readonly totalBytes: number;
}

/**
 * Keeps as much of the beginning of a text as all limits allow.
 *
 * With a limit of lines or bytes, keeps whole lines; cuts inside a line only if not even one line fits. With a limit of
 * characters, cuts exactly there. Never cuts inside a code point, an escape sequence (see `sequenceAround`) or CR LF: a
 * little less is kept then.
 *
 * Takes time in proportion to the kept part, except for one count of bytes and one of newlines.
 *
 * @param limit Default: 2,000 lines and 51,200 bytes. A missing kind, or Infinity, is no limit.
 * @param mask Masks secrets in a text (`ToolContext.mask`). If given, the kept text is within the limits after masking
 * too, because a mark may be longer than the secret that it replaces. Default: no masking.
 * @throws RangeError when a limit is negative or not a number.
 */
export function truncateHead(text: string, limit: Limit = DEFAULT_LIMIT, mask?: (text: string) => string): Truncation {
  return fitting((within) => headOf(text, within), limit, mask);
}

function headOf(text: string, limit: Limit): Truncation {
  const { lines, bytes, characters } = checked(limit);
  const totalBytes = Buffer.byteLength(text);
  const all = wholeWithin(text, limit, totalBytes);
  if (all !== undefined) return all;
  const cuts = {
    lines: endOfWholeLines(text, afterLines(text, lines)),
    bytes: totalBytes <= bytes ? text.length : endOfWholeLines(text, afterBytes(text, bytes)),
    characters: safeEnd(text, afterCharacters(text, characters)),
  };
  const cut = Math.min(cuts.lines, cuts.bytes, cuts.characters);
  if (cut === text.length) return whole(text, limit, totalBytes);
  return part(text, limit, totalBytes, { hit: kindOf(cuts, cut), shown: text.slice(0, cut), cut });
}

/**
 * Keeps as much of the end of a text as all limits allow. Otherwise like `truncateHead`.
 *
 * @throws RangeError when a limit is negative or not a number.
 */
export function truncateTail(text: string, limit: Limit = DEFAULT_LIMIT, mask?: (text: string) => string): Truncation {
  return fitting((within) => tailOf(text, within), limit, mask);
}

function tailOf(text: string, limit: Limit): Truncation {
  const { lines, bytes, characters } = checked(limit);
  const totalBytes = Buffer.byteLength(text);
  const all = wholeWithin(text, limit, totalBytes);
  if (all !== undefined) return all;
  const cuts = {
    lines: 0,
    bytes: totalBytes <= bytes ? 0 : startOfWholeLines(text, beforeBytes(text, bytes)),
    characters: safeStart(text, beforeCharacters(text, characters)),
  };
  // Lines are not searched beyond the cut of another limit, or the start of a sequence that may reach it.
  const lowest = Math.max(cuts.bytes, cuts.characters);
  cuts.lines = startOfWholeLines(text, beforeLines(text, lines, Math.max(0, lowest - LONGEST_SEQUENCE)));
  const cut = Math.max(cuts.lines, lowest);
  if (cut === 0) return whole(text, limit, totalBytes);
  return part(text, limit, totalBytes, { hit: kindOf(cuts, cut), shown: text.slice(cut), cut });
}

/** Cuts so that the masked text fits. Searches for the length, which may be up to 1/256 too short. */
function fitting(
  cutTo: (limit: Limit) => Truncation,
  limit: Limit,
  mask: ((text: string) => string) | undefined,
): Truncation {
  const plain = cutTo(limit);
  if (mask === undefined) return plain;
  const masked = mask(plain.text);
  if (masked === plain.text) return plain;
  const exceeded = headOf(masked, limit).truncated;
  if (exceeded === false) return plain;
  const most = plain.shownBytes;
  let kept = cutTo({ ...limit, bytes: 0 });
  let bytes = 0;
  for (let step = most / 2; step >= most / 256; step /= 2) {
    const longer = cutTo({ ...limit, bytes: bytes + step });
    if (headOf(mask(longer.text), limit).truncated !== false) continue;
    kept = longer;
    bytes += step;
  }
  return { ...kept, truncated: exceeded, limit };
}

/**
 * Returns the notice for a model below a truncated output: `[Output truncated at 50KB. Full output saved to:
 * output://ID]`, with `2000 lines` or `4000 characters` for other limits.
 *
 * @param id The saved output; `undefined` if it could not be saved.
 * @param forCommands The folder in which commands find it (`Outputs.forCommands`).
 */
export function savedNotice(
  { truncated, limit }: Pick<Truncation, "truncated" | "limit">,
  id: string | undefined,
  forCommands?: string,
): string {
  const path = forCommands === undefined ? "" : ` (for commands: ${forCommands}/${id})`;
  const sentences = [
    ...(truncated === false ? [] : [`Output truncated at ${amount(truncated, limit[truncated] ?? Infinity)}.`]),
    ...(id === undefined ? [] : [`Full output saved to: output://${id}${path}`]),
  ];
  return sentences.length === 0 ? "" : `[${sentences.join(" ")}]`;
}

/** The shown lines of a file. The first line is 1. */
export interface ShownRange {
  readonly first: number;
  readonly last: number;
  /** The number of lines of the file. */
  readonly total: number;
  /** The line to continue with; absent if no line follows. */
  readonly next?: number;
}

/**
 * Returns the notice for a model below a part of a file: `[Showing lines 1-2000 of 5120. Use offset=2001 to continue.]`
 */
export function rangeNotice({ first, last, total, next }: ShownRange): string {
  const more = next === undefined ? "" : ` Use offset=${next} to continue.`;
  return `[Showing lines ${first}-${last} of ${total}.${more}]`;
}

function amount(kind: keyof Limit, value: number): string {
  if (kind === "bytes") return formatSize(value);
  return value === 1 ? `1 ${kind.slice(0, -1)}` : `${value} ${kind}`;
}

/** Returns every kind as a whole number; Infinity for a missing limit. */
function checked(limit: Limit): Required<Limit> {
  return { lines: atMost("lines", limit), bytes: atMost("bytes", limit), characters: atMost("characters", limit) };
}

function atMost(kind: keyof Limit, limit: Limit): number {
  const value = limit[kind] ?? Infinity;
  if (value >= 0) return Math.floor(value);
  throw new RangeError(`limit of ${kind}: expected a number of 0 or more, got ${value}; leave it out for no limit`);
}

/** The whole text if it evidently fits. Its lines are counted once. */
function wholeWithin(text: string, limit: Limit, totalBytes: number): Truncation | undefined {
  const { lines = Infinity, bytes = Infinity, characters = Infinity } = limit;
  if (totalBytes > bytes || text.length > characters) return undefined;
  const totalLines = countLines(text);
  return totalLines <= lines ? whole(text, limit, totalBytes, totalLines) : undefined;
}

function whole(text: string, limit: Limit, bytes: number, lines = countLines(text)): Truncation {
  return {
    text,
    truncated: false,
    limit,
    insideLine: false,
    shownLines: lines,
    totalLines: lines,
    shownBytes: bytes,
    totalBytes: bytes,
  };
}

interface Cut {
  readonly hit: keyof Limit;
  readonly shown: string;
  readonly cut: number;
}

function part(text: string, limit: Limit, totalBytes: number, { hit, shown, cut }: Cut): Truncation {
  const shownBytes = Buffer.byteLength(shown);
  return {
    text: shown.length < text.length / 2 ? detached(shown, shownBytes) : shown,
    truncated: hit,
    limit,
    insideLine: shown !== "" && !startsLine(text, cut),
    shownLines: countLines(shown),
    totalLines: countLines(text),
    shownBytes,
    totalBytes,
  };
}

function kindOf(cuts: Required<Limit>, cut: number): keyof Limit {
  if (cuts.lines === cut) return "lines";
  return cuts.bytes === cut ? "bytes" : "characters";
}

/** Returns a copy: a small slice would keep the whole text in memory. */
function detached(slice: string, bytes: number): string {
  const encoding = bytes === slice.length ? "latin1" : "utf16le";
  return Buffer.from(slice, encoding).toString(encoding);
}

/**
 * Returns the last line end at or before `position` that splits nothing; otherwise the last position that splits
 * nothing.
 */
function endOfWholeLines(text: string, position: number): number {
  if (position === text.length) return position;
  let end = lineStartAtOrBefore(text, position);
  for (let split = sequenceAround(text, end); split !== undefined; split = sequenceAround(text, end)) {
    end = lineStartAtOrBefore(text, split.start);
  }
  return end > 0 ? end : safeEnd(text, position);
}

/**
 * Returns the first line start at or after `position` that splits nothing; otherwise the first position that splits
 * nothing.
 */
function startOfWholeLines(text: string, position: number): number {
  if (position === 0) return position;
  let start = lineStartAtOrAfter(text, position);
  for (let split = sequenceAround(text, start); split !== undefined; split = sequenceAround(text, start)) {
    start = lineStartAtOrAfter(text, split.end);
  }
  return start < text.length ? start : safeStart(text, position);
}

function lineStartAtOrBefore(text: string, position: number): number {
  return position === 0 ? 0 : text.lastIndexOf("\n", position - 1) + 1;
}

function lineStartAtOrAfter(text: string, position: number): number {
  if (startsLine(text, position)) return position;
  return text.indexOf("\n", position) + 1 || text.length;
}

function startsLine(text: string, position: number): boolean {
  return position === 0 || text.charAt(position - 1) === "\n";
}

/** Returns the last position at or before `position` at which a text can end. */
function safeEnd(text: string, position: number): number {
  const split = sequenceAround(text, position);
  if (split !== undefined) return split.start;
  return isInsidePair(text, position) || isInsideLineBreak(text, position) ? position - 1 : position;
}

/** Returns the first position at or after `position` at which a text can start. */
function safeStart(text: string, position: number): number {
  const split = sequenceAround(text, position);
  if (split !== undefined) return split.end;
  return isInsidePair(text, position) || isInsideLineBreak(text, position) ? position + 1 : position;
}

function isInsideLineBreak(text: string, position: number): boolean {
  return text.charAt(position) === "\n" && text.charAt(position - 1) === "\r";
}
