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

/** How many lines of a result a model is shown, unless its tool says otherwise. */
export const DEFAULT_MAX_LINES = 2000;
/** How many bytes of UTF-8 of a result a model is shown, unless its tool says otherwise. */
export const DEFAULT_MAX_BYTES = 51_200;

/** The limit when none is given. */
export const DEFAULT_LIMIT: Limit = { lines: DEFAULT_MAX_LINES, bytes: DEFAULT_MAX_BYTES };

/** What is left of a text, and of how much. */
export interface Truncation {
  /**
   * The beginning or the end of the text; the text itself when nothing is cut. Over none of the limits, ever. Not masked, also where a mask
   * was given.
   */
  readonly text: string;
  /** The limit that was hit (of several, the one that leaves the least); `false` when nothing is cut. */
  readonly truncated: false | keyof Limit;
  /** The limit it was held to. */
  readonly limit: Limit;
  /** True when the cut is inside a line: the first or last line shown is not whole. */
  readonly insideLine: boolean;
  /** Lines of `text`, one that is cut included. A final newline ends a line and starts none; "" has 0 lines. */
  readonly shownLines: number;
  readonly totalLines: number;
  /** Bytes of `text` as UTF-8; a lone surrogate has 3, as in a Buffer. */
  readonly shownBytes: number;
  readonly totalBytes: number;
}

/**
 * Keeps the beginning of a text, as much as all limits allow.
 *
 * With a limit of lines or bytes whole lines are kept; only when not even one fits is the cut inside it. With a limit of
 * characters the cut is exactly there. It is never inside a code point, an escape sequence (`sequenceAround` says which) or
 * CR LF: then a little less is kept.
 *
 * The work is at the kept end, beside one count of bytes and one of newlines.
 *
 * @param limit Default: 2,000 lines and 51,200 bytes. A kind left out, or Infinity, is no limit.
 * @param mask Masks secrets in a text (`ToolContext.mask`). With it, the text that is kept is within the limits after masking too: the mark
 *   that replaces a secret may be longer than the secret. Default: the text is shown as it is.
 * @throws RangeError when a limit is negative or not a number.
 */
export function truncateHead(text: string, limit: Limit = DEFAULT_LIMIT, mask?: (text: string) => string): Truncation {
  return fitting((within) => headOf(text, within), limit, mask);
}

function headOf(text: string, limit: Limit): Truncation {
  const { lines, bytes, characters } = checked(limit);
  const totalBytes = Buffer.byteLength(text);
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
 * Keeps the end of a text, as much as all limits allow. Otherwise like `truncateHead`.
 *
 * @throws RangeError when a limit is negative or not a number.
 */
export function truncateTail(text: string, limit: Limit = DEFAULT_LIMIT, mask?: (text: string) => string): Truncation {
  return fitting((within) => tailOf(text, within), limit, mask);
}

function tailOf(text: string, limit: Limit): Truncation {
  const { lines, bytes, characters } = checked(limit);
  const totalBytes = Buffer.byteLength(text);
  const cuts = {
    lines: 0,
    bytes: totalBytes <= bytes ? 0 : startOfWholeLines(text, beforeBytes(text, bytes)),
    characters: safeStart(text, beforeCharacters(text, characters)),
  };
  // Lines are not looked for beyond where another limit cuts, or a sequence that reaches there could start.
  const lowest = Math.max(cuts.bytes, cuts.characters);
  cuts.lines = startOfWholeLines(text, beforeLines(text, lines, Math.max(0, lowest - LONGEST_SEQUENCE)));
  const cut = Math.max(cuts.lines, lowest);
  if (cut === 0) return whole(text, limit, totalBytes);
  return part(text, limit, totalBytes, { hit: kindOf(cuts, cut), shown: text.slice(cut), cut });
}

/**
 * Cuts a text so that it is within the limit once it is masked. Where marks make it longer, the length that fits is searched for: it may
 * be 1/256 shorter than it could be.
 */
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
 * What a model is told below a truncated output:
 * `[Output truncated at 50KB. Full output saved to: output://ID]`, with `2000 lines` or `4000 characters` where that limit was hit.
 *
 * @param id The saved output; `undefined` when it could not be saved.
 */
export function savedNotice(
  { truncated, limit }: Pick<Truncation, "truncated" | "limit">,
  id: string | undefined,
): string {
  const sentences = [
    ...(truncated === false ? [] : [`Output truncated at ${amount(truncated, limit[truncated] ?? Infinity)}.`]),
    ...(id === undefined ? [] : [`Full output saved to: output://${id}`]),
  ];
  return sentences.length === 0 ? "" : `[${sentences.join(" ")}]`;
}

/** Lines of a file that are shown. The first line is 1. */
export interface ShownRange {
  readonly first: number;
  readonly last: number;
  /** Lines there are. */
  readonly total: number;
  /** The line to go on with; left out when there is no more. */
  readonly next?: number;
}

/** What a model is told below a part of a file: `[Showing lines 1-2000 of 5120. Use offset=2001 to continue.]` */
export function rangeNotice({ first, last, total, next }: ShownRange): string {
  const more = next === undefined ? "" : ` Use offset=${next} to continue.`;
  return `[Showing lines ${first}-${last} of ${total}.${more}]`;
}

function amount(kind: keyof Limit, value: number): string {
  if (kind === "bytes") return formatSize(value);
  return value === 1 ? `1 ${kind.slice(0, -1)}` : `${value} ${kind}`;
}

/** Every kind as a whole number; Infinity where there is no limit. */
function checked(limit: Limit): Required<Limit> {
  return { lines: atMost("lines", limit), bytes: atMost("bytes", limit), characters: atMost("characters", limit) };
}

function atMost(kind: keyof Limit, limit: Limit): number {
  const value = limit[kind] ?? Infinity;
  if (value >= 0) return Math.floor(value);
  throw new RangeError(`limit of ${kind}: expected a number of 0 or more, got ${value}; leave it out for no limit`);
}

function whole(text: string, limit: Limit, bytes: number): Truncation {
  const lines = countLines(text);
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

/** A copy: a small slice would keep the whole text in memory for as long as the slice lives. */
function detached(slice: string, bytes: number): string {
  const encoding = bytes === slice.length ? "latin1" : "utf16le";
  return Buffer.from(slice, encoding).toString(encoding);
}

/** The last end of a line at or before `position` that splits nothing; where that leaves no line, the last place that splits nothing. */
function endOfWholeLines(text: string, position: number): number {
  if (position === text.length) return position;
  let end = lineStartAtOrBefore(text, position);
  for (let split = sequenceAround(text, end); split !== undefined; split = sequenceAround(text, end)) {
    end = lineStartAtOrBefore(text, split.start);
  }
  return end > 0 ? end : safeEnd(text, position);
}

/** The first start of a line at or after `position` that splits nothing; where that leaves no line, the first place that splits nothing. */
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

/** The last place at or before `position` where a text can end. */
function safeEnd(text: string, position: number): number {
  const split = sequenceAround(text, position);
  if (split !== undefined) return split.start;
  return isInsidePair(text, position) || isInsideLineBreak(text, position) ? position - 1 : position;
}

/** The first place at or after `position` where a text can start. */
function safeStart(text: string, position: number): number {
  const split = sequenceAround(text, position);
  if (split !== undefined) return split.end;
  return isInsidePair(text, position) || isInsideLineBreak(text, position) ? position + 1 : position;
}

function isInsideLineBreak(text: string, position: number): boolean {
  return text.charAt(position) === "\n" && text.charAt(position - 1) === "\r";
}
