import { readFileSync } from "node:fs";
import { codeOf, tried } from "./errors.ts";

/** Fields of /proc/PID/stat (proc(5)). */
export interface ProcessStatus {
  /** "R", "S", "D" …; "Z" and "X" have ended. */
  readonly state: string;
  readonly ended: boolean;
  readonly parent: number;
  readonly group: number;
  /** The start time in the system's units. A PID may be reused, but not with the same start. */
  readonly start: string;
}

/** Parses a line "1234 (name, with anything in it) S 1 1234 …"; `undefined` for other text. */
export function parseProcessStatus(line: string): ProcessStatus | undefined {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group] = fields;
  const start = fields[19]; // field 22, counted from the state
  if (start === undefined) return undefined;
  return { state, ended: /^[ZX]/.test(state), parent: Number(parent), group: Number(group), start };
}

/** The status of a process; `undefined` if it has ended, and on systems without /proc. */
export function processStatus(pid: number): ProcessStatus | undefined {
  return tried(() => parseProcessStatus(readFileSync(`/proc/${pid}/stat`, "latin1")));
}

/** Whether a process exists, or a process group for a negative number. Other users' processes count too. */
export function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
