import type { OpenFile } from "../contract/backend.ts";

/** Read at a time. */
const CHUNK = 1024 * 1024;

/** A place is remembered about this often, so that a line is found by reading at most this much. */
const STRIDE = 256 * 1024;

/** Up to this size the rest of a file is read too, to say how many lines it has. */
const COUNT_UP_TO = 16 * 1024 * 1024;

/** A line break as it stands in the bytes: "\n" in the file's encoding, and what it must be aligned to. */
export interface LineBreak {
  readonly bytes: Uint8Array;
  readonly unit: 1 | 2;
}

/** Where lines begin in one version of one file, as far as it was read. Grows with use. */
export interface LineIndex {
  /** Line `places[i].line` (from 0) begins at byte `places[i].offset`. Sparse, in order. */
  readonly places: { readonly line: number; readonly offset: number }[];
  /** Lines of the whole file, once its end was seen. */
  total: number | undefined;
}

export function lineIndex(): LineIndex {
  return { places: [{ line: 0, offset: 0 }], total: undefined };
}

export interface LineRange {
  /** Whole lines with their breaks; of an over-long first line only the beginning. */
  readonly bytes: Uint8Array;
  /** How many lines that are. */
  readonly lines: number;
  /** True when the first line alone is over `maxBytes`. */
  readonly cutInLine: boolean;
  /** Lines of the whole file; `undefined` when it is too large to count. */
  readonly total: number | undefined;
  /** True when nothing follows the range. */
  readonly atEnd: boolean;
}

export interface LineRangeOptions {
  /** The first line, from 1. */
  readonly offset: number;
  readonly maxLines: number;
  readonly maxBytes: number;
  readonly lineBreak: LineBreak;
  /** What is known of where lines begin; what is learned is added. */
  readonly index: LineIndex;
  readonly signal: AbortSignal;
}

/**
 * Lines of a file by number, without loading the file. Reads from the nearest place the index knows; stops behind the range when the
 * file is large. A final line break ends the last line and starts none.
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
    // One byte over the limit is enough to know that it does not fit.
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

/** The byte at which a line (from 0) begins; `undefined` when the file has fewer lines. */
async function seekLine(
  file: OpenFile,
  line: number,
  { lineBreak, index, signal }: LineRangeOptions,
): Promise<number | undefined> {
  if (index.total !== undefined && line >= index.total) return undefined;
  let { line: current, offset } = placeBefore(index, line);
  let lineStart = offset;
  while (current < line) {
    signal.throwIfAborted();
    const chunk = asBuffer(await file.read(offset, CHUNK));
    if (chunk.length === 0) {
      // What stands behind the last break is a line of its own, unless nothing does.
      index.total = current + (offset > lineStart ? 1 : 0);
      return undefined;
    }
    let position = 0;
    while (current < line) {
      const next = nextBreak(chunk, position, lineBreak);
      if (next === -1) break;
      position = next;
      current++;
      lineStart = offset + position;
      // Compared with what is known by now: another read of the same file may go on beside this one.
      if (lineStart - (index.places.at(-1)?.offset ?? 0) >= STRIDE)
        index.places.push({ line: current, offset: lineStart });
    }
    offset += chunk.length; // of an odd length, which halves a character, only at the end
    if (chunk.length < CHUNK && current < line) {
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

/** The place behind the next line break; -1 when there is none. */
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
