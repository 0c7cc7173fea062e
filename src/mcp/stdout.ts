import { Writable } from "node:stream";

/** stdout of this process, reserved for one writer. */
export interface ReservedStdout {
  /** What is written here goes to stdout. Fails where stdout does. */
  readonly stream: Writable;
  /** Gives stdout back to everyone. */
  release(): void;
}

/**
 * Reserves stdout of this process: until it is released, what any other code writes to `process.stdout` (`console.log` among
 * them) goes to stderr, so that it cannot get between the messages of a protocol.
 */
export function reserveStdout(): ReservedStdout {
  const { stdout, stderr } = process;
  const write = stdout.write;
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => void write.call(stdout, chunk, undefined, done),
  });
  // A write that fails tells the stream through its callback; without a listener here it would end the process as well.
  if (!stdout.listeners("error").includes(ignore)) stdout.on("error", ignore);
  stdout.write = stderr.write.bind(stderr);
  return {
    stream,
    release() {
      stdout.write = write;
      // The listener stays: a write that is under way may still fail.
    },
  };
}

function ignore(): void {}
