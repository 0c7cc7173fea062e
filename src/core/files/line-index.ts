import type { OpenFile } from "../contract/backend.ts";

/** How many bytes are read at a time. */
const CHUNK = 1024 * 1024;

/** A position is remembered about every so many bytes. Finding a line reads at most this much. */
const STRIDE = 256 * 1024;

/** Files up to this size are read to the end to count their lines. In bytes. */
const COUNT_UP_TO = 16 * 1024 * 1024;

/** A line break in bytes: "\n" in the file's encoding, and its alignment. */
export interface LineBreak {
  readonly bytes: Uint8Array;
  readonly unit: 1 | 2;
}

/** The known starts of lines in one version of one file. Grows with use. */
export interface LineIndex {
  /** Line `places[i].line` (from 0) begins at byte `places[i].offset`. Sparse, in order. */
  readonly places: { readonly line: number; readonly offset: number }[];
  /** The number of lines, once the end of the file was read. */
  total: number | undefined;
}

export function lineIndex(): LineIndex {
  return { places: [{ line: 0, offset: 0 }], total: undefined };
}

export interface LineRange {
  /** Whole lines with their breaks. If the first line is too long, only its beginning. */
  readonly bytes: Uint8Array;
  /** How many lines `bytes` has. */
  readonly lines: number;
  /** True if the first line alone exceeds `maxBytes`. */
  readonly cutInLine: boolean;
  /** The number of lines of the file; `undefined` if it is too large to count. */
  readonly total: number | undefined;
  /** True if nothing follows the range. */
  readonly atEnd: boolean;
}

export interface LineRangeOptions {
  /** The number of the first line, from 1. */
  readonly offset: number;
  readonly maxLines: number;
  readonly maxBytes: number;
  readonly lineBreak: LineBreak;
  /** The known starts of lines. New ones are added. */
  readonly index: LineIndex;
  /** Its signal is made only if more than one chunk has to be read. */
  readonly until: { readonly signal: AbortSignal };
}

/**
 * Reads lines by number, without loading the file. Starts at the nearest known position. In a large file, stops after
 * the range. A final line break ends the last line and starts none.
 */
export async function readLines(file: OpenFile, options: LineRangeOptions): Promise<LineRange> {
  const { offset, maxLines, maxBytes, index } = options;
  const start = await seekLine(file, offset - 1, options);
  if (start === undefined)
    return { bytes: new Uint8Array(), lines: 0, cutInLine: false, total: index.total, atEnd: true };
  const read = await readFrom(file, start, options);
  if (!read.cutInLine && start + read.bytes.length >= file.info.size) index.total ??= offset - 1 + read.lines;
  if (index.total === undefined && file.info.size <= COUNT_UP_TO) await seekLine(file, Infinity, options);
  const atEnd = index.total !== undefined && !read.cutInLine && offset - 1 + read.lines >= index.total;
  return { ...read, total: index.total, atEnd };

  async function readFrom(from: OpenFile, position: number, { lineBreak }: LineRangeOptions) {
    // One byte more than the limit shows whether the line fits.
    const window = asBuffer(await from.read(position, maxBytes + lineBreak.bytes.length));
    let end = 0;
    let lines = 0;
    while (lines < maxLines && end < window.length) {
      const at = nextBreak(window, end, lineBreak);
      const next = at === -1 ? window.length : at;
      if (next > maxBytes) break;
      end = next;
      lines++;
    }
    if (lines === 0 && window.length > 0) {
      return { bytes: window.subarray(0, maxBytes - (maxBytes % lineBreak.unit)), lines: 1, cutInLine: true };
    }
    return { bytes: window.subarray(0, end), lines, cutInLine: false };
  }
}

/** Returns the byte at which a line (from 0) begins; `undefined` if the file has fewer lines. */
async function seekLine(
  file: OpenFile,
  line: number,
  { lineBreak, index, until }: LineRangeOptions,
): Promise<number | undefined> {
  if (index.total !== undefined && line >= index.total) return undefined;
  let { line: current, offset } = placeBefore(index, line);
  let lineStart = offset;
  let buffer: Buffer | undefined;
  while (current < line) {
    until.signal.throwIfAborted();
    buffer ??= Buffer.allocUnsafe(Math.min(CHUNK, Math.max(file.info.size - offset, STRIDE)));
    const chunk = asBuffer(await file.read(offset, buffer.length, buffer));
    if (chunk.length === 0) {
      // Text after the last break is a line of its own.
      index.total = current + (offset > lineStart ? 1 : 0);
      return undefined;
    }
    // Another read of the same file may have added places during the wait.
    let nextPlace = (index.places.at(-1)?.offset ?? 0) + STRIDE;
    for (let next = nextBreak(chunk, 0, lineBreak); next !== -1; next = nextBreak(chunk, next, lineBreak)) {
      current++;
      lineStart = offset + next;
      if (lineStart >= nextPlace) {
        index.places.push({ line: current, offset: lineStart });
        nextPlace = lineStart + STRIDE;
      }
      if (current === line) break;
    }
    offset += chunk.length; // an odd length, which splits a character, occurs only at the end
    if (chunk.length < buffer.length && current < line) {
      index.total = current + (offset > lineStart ? 1 : 0);
      return undefined;
    }
  }
  // A break at the very end starts no line.
  if (lineStart >= file.info.size && (await file.read(lineStart, 1)).length === 0) {
    index.total = current;
    return undefined;
  }
  return lineStart;
}

function placeBefore({ places }: LineIndex, line: number): { line: number; offset: number } {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((places[middle]?.line ?? 0) <= line) low = middle;
    else high = middle - 1;
  }
  return places[low] ?? { line: 0, offset: 0 };
}

/** Returns the position after the next line break; -1 if there is none. */
function nextBreak(bytes: Buffer, from: number, { bytes: wanted, unit }: LineBreak): number {
  if (unit === 1) {
    const at = bytes.indexOf(10, from);
    return at === -1 ? -1 : at + 1;
  }
  for (let at = bytes.indexOf(wanted, from); at !== -1; at = bytes.indexOf(wanted, at + 1))
    if (at % unit === 0) return at + wanted.length;
  return -1;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
