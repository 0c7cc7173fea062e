import { processStatus } from "../../../util/process-status.ts";

/** When a process began, in the system's own count (field 22 in proc(5)), since its number may be another's later; "" when it does not live. */
export function startOf(pid: number): string {
  if (process.platform !== "linux") return isThere(pid) ? "there" : "";
  const status = processStatus(pid);
  return status === undefined || status.ended ? "" : status.start;
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
