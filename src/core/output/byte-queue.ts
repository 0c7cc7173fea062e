/** Bytes in order. They are added at the end and dropped from the front. */
export interface ByteQueue {
  readonly size: number;
  /** Appends a copy of the bytes. */
  add(bytes: Uint8Array): void;
  /**
   * Returns about `least` bytes from the front, or all there are. They are not copied: they are valid until dropped.
   */
  front(least: number): Uint8Array[];
  /** Removes the first `count` bytes. */
  drop(count: number): void;
  /** Returns a copy of bytes `start` (inclusive) to `end` (exclusive), both within the queue. */
  copy(start: number, end: number): Uint8Array;
}

const SMALLEST_BLOCK = 4 * 1024;
const BLOCK = 64 * 1024;

/** Creates an empty queue. Small additions are gathered in blocks, so that none keeps a buffer of its own alive. */
export function byteQueue(): ByteQueue {
  const full: Buffer[] = [];
  /** The block that is being filled. `used` says how far. */
  let last: Buffer = Buffer.alloc(0);
  let used = 0;
  let size = 0;

  /** Turns the filled part of the last block into a piece. The free part continues to be filled. */
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
