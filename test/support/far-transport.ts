import { Transform, type TransformCallback } from "node:stream";
import type { Transport } from "../../src/backends/remote/transport.ts";

/** The transport over a link on which every byte arrives half a round trip later, in both directions. */
export function farTransport(transport: Transport, roundTripMs: number): Transport {
  return {
    ...transport,
    async open(which) {
      const line = await transport.open(which);
      const stdin = late(roundTripMs / 2);
      stdin.pipe(line.stdin);
      return {
        stdin,
        stdout: line.stdout.pipe(late(roundTripMs / 2)),
        stderr: line.stderr.pipe(late(roundTripMs / 2)),
        ended: line.ended,
        kill: () => line.kill(),
      };
    },
  };
}

function late(milliseconds: number): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      setTimeout(() => this.push(chunk), milliseconds);
      done();
    },
    flush: (done: TransformCallback) => void setTimeout(done, milliseconds),
  });
}
