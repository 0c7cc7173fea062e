import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync, statSync } from "node:fs";
import { tried } from "../../util/errors.ts";

const { O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

// `tee` does not buffer: it writes to the file at once, while other programs keep their last few kilobytes until their
// buffer is full. `ulimit` (in blocks of 512 bytes, POSIX) limits the file. When that limit is reached or the disk is
// full, `tee` continues without the file: the rest must be read, since a full pipe would stop the command and a closed
// one end it. `wc` counts, and reports when `tee` is stopped, so it ignores the signal that stops `tee`.
const SCRIPT = '(trap "" XFSZ; ulimit -f "$1"; exec tee -a "$2") | (trap "" INT; exec wc -c)';

/** The unit of `ulimit -f`, in bytes. */
const BLOCK = 512;

/** A copy by another process. No byte passes through Node. */
export interface Drain {
  readonly pid: number;
  /** Resolves to the bytes that were read but are not in the file; `undefined` if not counted. Never rejects. */
  readonly ended: Promise<number | undefined>;
  release(): void;
}

/**
 * Copies from a pipe to the end of a file, until all writers have closed the pipe. The file grows up to `most` bytes, a
 * multiple of 512.
 *
 * @throws The system's error when the pipe is gone or no process can be started.
 */
export function drain(pipe: string, file: string, most: number): Drain {
  const before = statSync(file).size;
  // `tee` needs its own, blocking reading end: that of the backend does not block. Opening one waits for a writing end.
  // So both ends are opened at once first, which always works, even if all others have died.
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
  child.on("error", () => undefined); // then it has no PID, or could not be signalled
  const { pid } = child;
  if (pid === undefined) throw new Error("sh could not be started");
  return {
    pid,
    ended: new Promise((resolve) => {
      child.once("close", () => {
        const isCounted = /^\s*\d+\s*$/.test(counted);
        const after = tried(() => statSync(file).size);
        resolve(isCounted && after !== undefined ? Math.max(0, Number(counted) - (after - before)) : undefined);
      });
    }),
    release() {
      tried(() => process.kill(-pid, "SIGINT"));
    },
  };
}
