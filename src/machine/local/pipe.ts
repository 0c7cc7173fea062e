import { closeSync, constants, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import { codeOf } from "../../core/util/errors.ts";
import { later } from "../../core/util/promises.ts";
import type { Spawner } from "../spawner/connection.ts";

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

// Plain descriptors: a FileHandle closes its descriptor when it is garbage-collected. No operation here blocks.

/** Creates a pipe to read. `take` gets its chunks, and returns false to stop reading until `resume`. */
export async function pipeToRead(spawner: Spawner, take: (length: number, buffer: Uint8Array) => boolean) {
  const { pipe, fd } = await newPipe(spawner, (name) => ({ pipe: name, fd: openSync(name, O_RDONLY | O_NONBLOCK) }));
  const closed = later();
  let socket: Socket | undefined;
  return {
    /** The pipe's path, with which the command opens its end of the pipe. Removed when reading begins. */
    pipe,
    fd,
    /** Starts to read. Call it when the command has opened its end of the pipe. */
    begin() {
      removeName(pipe);
      // A stream would read ahead; `onread` does not. The types lack `onread`.
      const onread = { buffer: Buffer.allocUnsafe(65_536), callback: take };
      const options: SocketConstructorOpts & ConnectOpts = { fd, readable: true, writable: false, onread };
      socket = new Socket(options).on("error", () => undefined).once("close", () => closed.resolve());
    },
    /** Releases the pipe when no command was started. */
    abandon() {
      closeSync(fd);
      removeName(pipe);
    },
    resume: () => void socket?.resume(),
    /** Lets this process end while it still reads; `ref` takes it back. */
    unref: () => void socket?.unref(),
    ref: () => void socket?.ref(),
    destroy: () => void socket?.destroy(),
    /** Resolves when all writers have closed the pipe and everything is read, or after `destroy`. */
    closed: closed.promise,
  };
}

/** The writing end of a new pipe, to a command's stdin. */
export type PipeWriter = Awaited<ReturnType<typeof pipeToWrite>>;

/** Creates a pipe with both ends open, so that it has a reader until the command reads. */
export function pipeToWrite(spawner: Spawner) {
  return newPipe(spawner, (pipe) => {
    const both = openSync(pipe, O_RDWR | O_NONBLOCK);
    let fd: number;
    try {
      fd = openSync(pipe, O_WRONLY | O_NONBLOCK);
    } catch (error) {
      closeSync(both);
      throw error;
    }
    return {
      pipe,
      /** Returns the stream to the command's stdin. Call it when the command has opened its end of the pipe. */
      begin(): Socket {
        closeSync(both); // otherwise this process would not notice that the command has closed its end
        removeName(pipe);
        // Callers of `write` get the error.
        return new Socket({ fd, readable: false, writable: true }).on("error", () => undefined);
      },
      abandon() {
        closeSync(both);
        closeSync(fd);
        removeName(pipe);
      },
    };
  });
}

/** An open end stays usable. Without the name, no other process can open the pipe. */
function removeName(pipe: string): void {
  rm(pipe, { force: true }).catch(() => undefined);
}

async function newPipe<Ends>(spawner: Spawner, open: (pipe: string) => Ends): Promise<Ends> {
  for (;;) {
    const pipe = await spawner.takePipe();
    try {
      return open(pipe);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error; // the temporary folder was cleared: the next pipe may exist
    }
  }
}
