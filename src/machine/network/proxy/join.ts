import type { Socket } from "node:net";

/** How long both connections may be idle after one side has ended, in milliseconds. Then they close. */
const HALF_OPEN_MS = 60_000;

/** Joins two connections, with backpressure. The end of one direction leaves the other open; an abort ends both. */
export function join(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on("error", () => undefined); // "close" follows
    from.on("end", () => {
      for (const each of [from, to]) each.setTimeout(HALF_OPEN_MS, () => each.destroy());
    });
    from.on("close", () => {
      if (from.readableEnded) to.destroySoon();
      else to.destroy();
    });
  }
  if (one.destroyed) other.destroy();
  if (other.destroyed) one.destroy();
}
