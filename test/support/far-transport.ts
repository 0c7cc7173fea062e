import { Transform, type TransformCallback } from "node:stream";
import type { Transport } from "../../src/machine/shell/transport.ts";

export interface FarTransport extends Transport {
  /**
   * Starts counting. Returns a function that returns how many sequential round trips there have been since. What is
   * written after an answer counts as its consequence, however busy this machine is.
   */
  count(): () => number;
}

/** How much too early timers may fire, in milliseconds. */
const EARLY_MS = 3;

/** The transport over a link that delays every byte by half a round trip, in both directions. */
export function farTransport(transport: Transport, roundTripMs: number): FarTransport {
  let heard = 0;
  let sent: { readonly atMs: number; readonly trip: number }[] = [];
  const noteSent = () => void sent.push({ atMs: performance.now(), trip: heard + 1 });
  const noteHeard = () => {
    const before = performance.now() - roundTripMs + EARLY_MS;
    for (const { atMs, trip } of sent) if (atMs <= before) heard = Math.max(heard, trip);
  };
  return {
    ...transport,
    async open(which) {
      const line = await transport.open(which);
      const stdin = late(roundTripMs / 2, { taken: noteSent });
      stdin.pipe(line.stdin);
      return {
        stdin,
        stdout: line.stdout.pipe(late(roundTripMs / 2, { given: noteHeard })),
        stderr: line.stderr.pipe(late(roundTripMs / 2, { given: noteHeard })),
        ended: line.ended,
        kill: () => line.kill(),
      };
    },
    count() {
      heard = 0;
      sent = [];
      return () => heard;
    },
  };
}

function late(milliseconds: number, { taken, given }: { taken?(): void; given?(): void }): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      taken?.();
      setTimeout(() => {
        given?.();
        this.push(chunk);
      }, milliseconds);
      done();
    },
    flush: (done: TransformCallback) => void setTimeout(done, milliseconds),
  });
}
