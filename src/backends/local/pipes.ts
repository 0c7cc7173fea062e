import { execFile } from "node:child_process";
import { closeSync, constants, open } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Making FIFOs costs a process; this many are made at a time. */
const BATCH = 16;

// Plain descriptors: a FileHandle would close its own when it is collected.
const openFd = promisify(open);

/** A pipe of which a child gets the writing end as a file descriptor. */
export interface Pipe {
  readonly reader: Socket;
  /** For `stdio` of a child. */
  readonly writeFd: number;
  /** Closes our writing end, once the child has its own. */
  closeWriter(): void;
}

/**
 * Real pipes. Node's own are socket pairs, on which `>/dev/stderr` and `tee /dev/stdout` fail (ENXIO); a plain file as stdout
 * would be truncated by them. A FIFO whose name is removed once both ends are open is the same as pipe(2).
 */
export function createPipes(): { make(): Promise<Pipe>; close(): Promise<void> } {
  let folder: Promise<string> | undefined;
  let ready: string[] = [];
  let made = 0;
  let filling: Promise<void> | undefined;

  const fill = async () => {
    folder ??= mkdtemp(join(tmpdir(), "handrail-pipes-"));
    const into = await folder;
    const names = Array.from({ length: BATCH }, () => join(into, String(made++)));
    await promisify(execFile)("mkfifo", ["-m", "600", ...names]);
    ready.push(...names);
  };

  const take = async (): Promise<string> => {
    for (;;) {
      const name = ready.pop();
      if (name !== undefined) return name;
      filling ??= fill().finally(() => (filling = undefined));
      await filling;
    }
  };

  return {
    async make() {
      const name = await take();
      const readFd = await openFd(name, O_RDONLY | O_NONBLOCK);
      const writeFd = await openFd(name, O_WRONLY);
      await rm(name);
      return pipe(readFd, writeFd);
    },
    async close() {
      ready = [];
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
      folder = undefined;
    },
  };
}

function pipe(readFd: number, writeFd: number): Pipe {
  let writing = true;
  return {
    reader: new Socket({ fd: readFd, readable: true, writable: false }),
    writeFd,
    closeWriter() {
      if (writing) closeSync(writeFd);
      writing = false;
    },
  };
}
