import { closeSync, constants, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { codeOf } from "../../util/errors.ts";
import type { Spawner } from "./spawner/connection.ts";

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

// Plain descriptors: a FileHandle would close its own when it is collected. None of these waits for anybody.

/** A new pipe with its reading end open. */
export function pipeToRead(spawner: Spawner): Promise<{ readonly pipe: string; readonly fd: number }> {
  return newPipe(spawner, (pipe) => ({ pipe, fd: openSync(pipe, O_RDONLY | O_NONBLOCK) }));
}

/** A new pipe with its writing end open, and with both, so that there is somebody who reads until the command does. */
export function pipeToWrite(
  spawner: Spawner,
): Promise<{ readonly pipe: string; readonly fd: number; readonly both: number }> {
  return newPipe(spawner, (pipe) => {
    const both = openSync(pipe, O_RDWR | O_NONBLOCK);
    try {
      return { pipe, both, fd: openSync(pipe, O_WRONLY | O_NONBLOCK) };
    } catch (error) {
      closeSync(both);
      throw error;
    }
  });
}

/** Who has an end of a pipe keeps it: without its name nobody else can find it. */
export function removeName(pipe: string): void {
  rm(pipe, { force: true }).catch(() => undefined);
}

async function newPipe<Ends>(spawner: Spawner, open: (pipe: string) => Ends): Promise<Ends> {
  for (;;) {
    const pipe = await spawner.takePipe();
    try {
      return open(pipe);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error; // somebody has cleared the temporary folder: the next may be there
    }
  }
}
