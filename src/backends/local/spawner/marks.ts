import { processStatus } from "../../../util/process-status.ts";
import { environmentOf } from "./kill-tree.ts";

/** The variable that marks what a command started, so that it is found again after `setsid` or a double fork. */
export const MARK_VARIABLE = "HANDRAIL_PROCESS";

/** The variable that marks the process that starts commands. Commands do not get it. */
export const SPAWNER_VARIABLE = "HANDRAIL_SPAWNER";

/**
 * Returns true when a process (default: this one), or one of those that it descends from, was started by Handrail for a command. Not recognized: a
 * process that both left its parents (`setsid`) and dropped its environment (`env -i`), and without /proc one that dropped its environment.
 */
export function isStartedByHandrail(start = process.pid): boolean {
  if (start === process.pid && process.env[MARK_VARIABLE] !== undefined) return true;
  for (let pid = start; pid > 0; pid = processStatus(pid)?.parent ?? 0) {
    const environment = `\0${environmentOf(pid)}`;
    if ([MARK_VARIABLE, SPAWNER_VARIABLE].some((name) => environment.includes(`\0${name}=`))) return true;
  }
  return false;
}
