/** Bytes in order: added at the end, dropped from the front. */
export interface ByteQueue {
  readonly size: number;
  /** Takes a copy. */
  add(bytes: Uint8Array): void;
  /** Bytes from the front, about `least` or all there are, uncopied: valid until they are dropped. */
  front(least: number): Uint8Array[];
  /** Forgets the first `count` bytes. */
  drop(count: number): void;
  /** A copy of bytes `start` (inclusive) to `end` (exclusive), both within the queue. */
  copy(start: number, end: number): Uint8Array;
}

const SMALLEST_BLOCK = 4 * 1024;
const BLOCK = 64 * 1024;

/** An empty queue. Small additions are gathered in blocks, so that none of them holds on to a buffer of its own. */
export function byteQueue(): ByteQueue {
  const full: Buffer[] = [];
  /** The block that is being filled, and how far. */
  let last: Buffer = Buffer.alloc(0);
  let used = 0;
  let size = 0;

  /** Makes what is in the last block a piece of its own; its free part goes on being filled. */
  const seal = () => {
    if (used > 0) full.push(last.subarray(0, used));
    last = last.subarray(used);
    used = 0;
  };

  return {
    get size() {
      return size;
    },
    add(bytes) {
      let rest = bytes;
      while (rest.length > 0) {
        if (used === last.length) {
          seal();
          // Blocks grow with the queue: there may be many queues with a line or two.
          last = Buffer.allocUnsafeSlow(Math.min(BLOCK, Math.max(SMALLEST_BLOCK, size, rest.length)));
        }
        const part = rest.subarray(0, last.length - used);
        last.set(part, used);
        used += part.length;
        size += part.length;
        rest = rest.subarray(part.length);
      }
    },
    front(least) {
      seal();
      const pieces: Uint8Array[] = [];
      let bytes = 0;
      for (const piece of full) {
        if (bytes >= least) break;
        pieces.push(piece);
        bytes += piece.length;
      }
      return pieces;
    },
    drop(count) {
      seal();
      let rest = count;
      size -= count;
      while (rest > 0) {
        const piece = full.shift();
        if (piece === undefined) return;
        if (piece.length > rest) full.unshift(piece.subarray(rest));
        rest -= piece.length;
      }
    },
    copy(start, end) {
      const copy = Buffer.allocUnsafe(end - start);
      let position = -start;
      for (const piece of [...full, last.subarray(0, used)]) {
        if (position >= copy.length) break;
        const from = Math.max(0, -position);
        if (from < piece.length) copy.set(piece.subarray(from, copy.length - position), position + from);
        position += piece.length;
      }
      return copy;
    },
  };
}
