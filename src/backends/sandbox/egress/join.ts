import type { Socket } from "node:net";

/** When one side has said all it has, the other may still answer: until it is silent for so long. */
const HALF_OPEN_MS = 60_000;

/**
 * Joins two connections: what comes in on one goes out on the other, as fast as that takes it. An end is passed on and leaves the other
 * direction open; an abort ends both.
 */
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
