import { tried } from "../../core/util/errors.ts";
import { processStatus } from "../../core/util/process-status.ts";

/** The start time of a process (field 22, proc(5)), which identifies it: PIDs are reused. "" if it has ended. */
export function startOf(pid: number): string {
  if (process.platform !== "linux") return tried(() => process.kill(pid, 0)) ? "there" : "";
  const status = processStatus(pid);
  return status === undefined || status.ended ? "" : status.start;
}
