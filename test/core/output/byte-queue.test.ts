import fc from "fast-check";
import { expect, test } from "vitest";
import { byteQueue } from "../../../src/core/output/byte-queue.ts";

const step = fc.oneof(
  fc.record({ add: fc.oneof(fc.nat(20), fc.nat(10_000), fc.nat(200_000)) }),
  fc.record({ drop: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ front: fc.nat(300_000) }),
);

test("after any additions and drops, the remaining bytes are in order", () => {
  const source = Uint8Array.from({ length: 2_000_000 }, (_, at) => (at * 7 + (at >> 8) * 13) & 0xff);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.nat(1000), fc.nat(1000), (steps, skipped, left) => {
      const queue = byteQueue();
      let start = 0;
      let end = 0;
      for (const one of steps) {
        if ("add" in one) {
          const bytes = source.slice(end, end + one.add);
          queue.add(bytes);
          end += bytes.length;
          bytes.fill(0); // it took a copy
        } else if ("drop" in one) {
          const count = Math.floor(one.drop * (end - start));
          queue.drop(count);
          start += count;
        }
        const wanted = "front" in one ? one.front : undefined;
        const front = Buffer.concat(wanted === undefined ? [] : queue.front(wanted));
        expect(front.length).toBeGreaterThanOrEqual(Math.min(wanted ?? 0, end - start));
        expect(front.equals(source.subarray(start, start + front.length))).toBe(true);
        expect(queue.size).toBe(end - start);
        const from = Math.min(skipped, queue.size);
        const to = Math.max(from, queue.size - left);
        expect(Buffer.from(queue.copy(from, to)).equals(source.subarray(start + from, start + to))).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
