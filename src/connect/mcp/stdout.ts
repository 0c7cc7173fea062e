import { Writable } from "node:stream";

/** The stdout of this process, reserved for one writer. */
export interface ReservedStdout {
  /** Writes to stdout. Fails when stdout fails. */
  readonly stream: Writable;
  /** Ends the reservation. */
  release(): void;
}

/**
 * Reserves stdout of this process. Until `release`, writes of other code to `process.stdout` (including `console.log`)
 * go to stderr, so that they cannot get between the messages of a protocol.
 */
export function reserveStdout(): ReservedStdout {
  const { stdout, stderr } = process;
  const write = stdout.write;
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write.call(stdout, chunk, undefined, done),
  });
  // A failed write is reported to the stream through its callback. Without a listener here it would also end the
  // process.
  if (!stdout.listeners("error").includes(ignore)) stdout.on("error", ignore);
  stdout.write = stderr.write.bind(stderr);
  return {
    stream,
    release() {
      stdout.write = write;
      // The listener is kept: a pending write may still fail.
    },
  };
}

function ignore(): void {}
