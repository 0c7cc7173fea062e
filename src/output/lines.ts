import type { OpenFile } from "../contract/backend.ts";

/** Read at a time: large enough to be quick, small enough to stop early. */
const CHUNK = 256 * 1024;

/** Up to this size the rest of a file is read too, to say how many lines it has. */
const COUNT_UP_TO = 16 * 1024 * 1024;

export interface LineRange {
  /** The bytes of the lines, line endings included. */
  readonly bytes: Uint8Array;
  /** How many lines that are. */
  readonly lines: number;
  /** True when the first line alone is over `maxBytes`: `bytes` is then its beginning. */
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
}

/**
 * Lines of a file by number, without loading the file: whole lines, as many as fit both limits. Lines end with "\n"; a final
 * newline ends the last line and starts none.
 */
export async function readLines(file: OpenFile, { offset, maxLines, maxBytes }: LineRangeOptions): Promise<LineRange> {
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  let line = 1; // the number of the line that `position` stands in
  let full = false;
  let position = 0;
  let endsInNewline = true;
  let totalKnown = true;

  for (;;) {
    const chunk = asBuffer(await file.read(position, CHUNK));
    if (chunk.length === 0) break;
    let at = 0;
    while (at < chunk.length) {
      const newline = chunk.indexOf(10, at);
      const end = newline === -1 ? chunk.length : newline + 1;
      if (line >= offset && line < offset + maxLines && !full) {
        kept.push(chunk.subarray(at, end));
        keptBytes += end - at;
        // One byte more than allowed is enough to know; the cut is made below, at a line.
        if (keptBytes > maxBytes) full = true;
      }
      if (newline !== -1) line++;
      at = end;
    }
    endsInNewline = chunk[chunk.length - 1] === 10;
    position += chunk.length;
    if ((full || line >= offset + maxLines) && file.info.size > COUNT_UP_TO && position < file.info.size) {
      totalKnown = false;
      break;
    }
  }
  const total = line - (endsInNewline ? 1 : 0);
  return cutAtLine(Buffer.concat(kept), { maxBytes, offset, total: totalKnown ? total : undefined });
}

function cutAtLine(
  bytes: Buffer,
  { maxBytes, offset, total }: { maxBytes: number; offset: number; total: number | undefined },
): LineRange {
  let kept = bytes;
  let cutInLine = false;
  if (bytes.length > maxBytes) {
    const lastNewline = bytes.lastIndexOf(10, maxBytes - 1);
    cutInLine = lastNewline === -1;
    kept = bytes.subarray(0, cutInLine ? codePointStart(bytes, maxBytes) : lastNewline + 1);
  }
  const lines = countLines(kept);
  return { bytes: kept, lines, cutInLine, total, atEnd: !cutInLine && total !== undefined && offset + lines > total };
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count++;
  return bytes.length > 0 && bytes[bytes.length - 1] !== 10 ? count + 1 : count;
}

/** The start of the UTF-8 code point that `at` stands in; `at` itself where the bytes are no UTF-8. */
function codePointStart(bytes: Buffer, at: number): number {
  for (let start = at; start >= Math.max(0, at - 3); start--) if (((bytes[start] ?? 0) & 0xc0) !== 0x80) return start;
  return at;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
