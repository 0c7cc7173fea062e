import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";

const { O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

// What is beyond the room is read too, and counted: a full pipe would stop the command, a closed one end it.
const SCRIPT = 'head -c "$1" >>"$2"; exec wc -c';

/** A copy that goes on by itself: no byte passes through Node. */
export interface Drain {
  readonly pid: number;
  /** Bytes that were beyond the room; `undefined` when it was ended before the pipe. Never rejects. */
  readonly ended: Promise<number | undefined>;
  release(): void;
}

/**
 * Copies what comes out of a pipe to the end of a file, until all have closed its writing end.
 *
 * @throws The system's error when the pipe is gone or nothing can be started.
 */
export function drain(pipe: string, file: string, room: number): Drain {
  // A reading end that waits for bytes can only be had while there is a writing end; and it must be one of its own, for the
  // backend's does not wait, which `head` does not understand. Both ends at once can always be had, whoever has died.
  const both = openSync(pipe, O_RDWR | O_NONBLOCK);
  let child: ChildProcess;
  try {
    const reader = openSync(pipe, O_RDONLY);
    try {
      child = spawn("sh", ["-c", SCRIPT, "sh", String(room), file], {
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
      child.once("close", () => resolve(/^\s*\d+/.test(counted) ? Number(counted) : undefined));
    }),
    release() {
      try {
        process.kill(-pid, "SIGKILL");
      } catch {
        // it has ended
      }
    },
  };
}
