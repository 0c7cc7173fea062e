import { readFileSync } from "node:fs";

/** What /proc/PID/stat says of a process (proc(5)). */
export interface ProcessStatus {
  /** "R", "S", "D" …; "Z" and "X" have ended. */
  readonly state: string;
  readonly ended: boolean;
  readonly parent: number;
  readonly group: number;
  /** When it began, in the system's own count: a number may be another's later, but not with this. */
  readonly start: string;
}

/** Reads a line "1234 (name, with anything in it) S 1 1234 …"; `undefined` for what is none. */
export function parseProcessStatus(line: string): ProcessStatus | undefined {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group] = fields;
  const start = fields[19]; // field 22, counted from the state
  if (start === undefined) return undefined;
  return { state, ended: /^[ZX]/.test(state), parent: Number(parent), group: Number(group), start };
}

/** The status of a process; `undefined` where it is not there any more, and on systems without /proc. */
export function processStatus(pid: number): ProcessStatus | undefined {
  try {
    return parseProcessStatus(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return undefined;
  }
}
