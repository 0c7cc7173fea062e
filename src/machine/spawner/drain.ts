import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync, realpathSync } from "node:fs";
import { KEPT_OF_END, KEPT_OF_START } from "../../core/output/kept.ts";
import { tried } from "../../core/util/errors.ts";
import SPOOL from "../process/spool.sh";

const { O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

// A full pipe would stop the command and a closed one end it, so everything is read. The signal that releases the pipe
// ends only `cat`: the rest ignores it, and so writes and counts everything that `cat` has read.
const SCRIPT = `${SPOOL}\ncat | (trap "" INT; hr_spool "$@")`;

/** A copy by another process. No byte passes through Node. */
export interface Drain {
  readonly pid: number;
  /** Resolves to the bytes that were read but are not in the file; `undefined` if not counted. Never rejects. */
  readonly ended: Promise<number | undefined>;
  release(): void;
}

/**
 * Copies from a pipe to the end of a file, until all writers have closed the pipe. The file gets the beginning of the
 * output, and at last its end (`spool.sh`).
 *
 * @throws The system's error when the pipe is gone or no process can be started.
 */
export function drain(pipe: string, file: string): Drain {
  // `cat` needs its own, blocking reading end: that of the backend does not block. Opening one waits for a writing end.
  // So both ends are opened at once first, which always works, even if all others have died.
  const both = openSync(pipe, O_RDWR | O_NONBLOCK);
  let child: ChildProcess;
  try {
    const reader = openSync(pipe, O_RDONLY);
    try {
      // What will be the end is in files beside it. `file` may be the name of a descriptor.
      const beside = tried(() => realpathSync(file)) ?? file;
      child = spawn("sh", ["-c", SCRIPT, "sh", file, beside, `${KEPT_OF_START}`, `${KEPT_OF_END}`], {
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
      child.once("close", () => resolve(/^\d+\n$/.test(counted) ? Number(counted) : undefined));
    }),
    release() {
      tried(() => process.kill(-pid, "SIGINT"));
    },
  };
}
