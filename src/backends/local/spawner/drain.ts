import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync, statSync } from "node:fs";

const { O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

// `tee` holds nothing back: what is in the pipe is in the file at once, where others hold their last few kilobytes until they are full.
// Its limit (in blocks of 512 bytes, POSIX ulimit) is that of the file, and where that or the disk is full it goes on without it: what is
// beyond is read all the same, since a full pipe would stop the command and a closed one end it. `wc` counts, and tells when `tee` is
// stopped, so it is deaf to the signal that stops it.
const SCRIPT = '(trap "" XFSZ; ulimit -f "$1"; exec tee -a "$2") | (trap "" INT; exec wc -c)';

/** The limit of a file is told in blocks of so many bytes. */
const BLOCK = 512;

/** A copy that goes on by itself: no byte passes through Node. */
export interface Drain {
  readonly pid: number;
  /** Resolves to the bytes that were read and are not in the file; `undefined` when nobody counted to the end. Never rejects. */
  readonly ended: Promise<number | undefined>;
  release(): void;
}

/**
 * Copies what comes out of a pipe to the end of a file, until all have closed its writing end. The file grows up to `most` bytes, which is a
 * multiple of 512.
 *
 * @throws The system's error when the pipe is gone or nothing can be started.
 */
export function drain(pipe: string, file: string, most: number): Drain {
  const before = statSync(file).size;
  // A reading end that waits for bytes can only be had while there is a writing end; and it must be one of its own, for the
  // backend's does not wait, which `tee` does not understand. Both ends at once can always be had, whoever has died.
  const both = openSync(pipe, O_RDWR | O_NONBLOCK);
  let child: ChildProcess;
  try {
    const reader = openSync(pipe, O_RDONLY);
    try {
      child = spawn("sh", ["-c", SCRIPT, "sh", String(Math.floor(most / BLOCK)), file], {
        detached: true,
        env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C" },
        stdio: [reader, "pipe", "ignore"],
      });
    } finally {
      closeSync(reader);
    }
  } finally {
    closeSync(both);
  }
  let counted = "";
  child.stdout?.setEncoding("latin1").on("data", (text: string) => (counted += text));
  child.on("error", () => undefined); // then it has no process id, or could not be signalled
  const { pid } = child;
  if (pid === undefined) throw new Error("sh could not be started");
  return {
    pid,
    ended: new Promise((resolve) => {
      child.once("close", () => {
        const isCounted = /^\s*\d+\s*$/.test(counted);
        const after = sizeOf(file);
        resolve(isCounted && after !== undefined ? Math.max(0, Number(counted) - (after - before)) : undefined);
      });
    }),
    release() {
      try {
        process.kill(-pid, "SIGINT");
      } catch {
        // it has ended
      }
    },
  };
}

/** `undefined` when it is gone. */
function sizeOf(file: string): number | undefined {
  try {
    return statSync(file).size;
  } catch {
    return undefined;
  }
}
