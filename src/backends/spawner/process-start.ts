import { tried } from "../../util/errors.ts";
import { processStatus } from "../../util/process-status.ts";

/**
 * The start time of a process in the system's units (field 22, proc(5)). It identifies a process, since PIDs are
 * reused. "" if the process has ended.
 */
export function startOf(pid: number): string {
  if (process.platform !== "linux") return tried(() => process.kill(pid, 0)) ? "there" : "";
  const status = processStatus(pid);
  return status === undefined || status.ended ? "" : status.start;
}
