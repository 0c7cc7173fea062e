import { processStatus } from "../../core/util/process-status.ts";
import { isInCommandGroup } from "./command-group.ts";
import { environmentOf } from "./kill-tree.ts";

/** The variable that marks the children of a command, so that they are found after `setsid` or a double fork. */
export const MARK_VARIABLE = "HANDRAIL_PROCESS";

/** The variable that marks the spawner. Commands do not get it. */
export const SPAWNER_VARIABLE = "HANDRAIL_SPAWNER";

/**
 * Returns true if a process (default: this one) or an ancestor was started by Handrail for a command. Where commands
 * are in a control group (`markByGroup`) nothing that they start is missed. Elsewhere a process is missed that left its
 * parents (a double fork) and dropped its environment (`env -i`); without /proc, the latter alone is enough.
 */
export function isStartedByHandrail(start = process.pid): boolean {
  if (start === process.pid && process.env[MARK_VARIABLE] !== undefined) return true;
  if (isInCommandGroup(start)) return true;
  for (let pid = start; pid > 0; pid = processStatus(pid)?.parent ?? 0) {
    const environment = `\0${environmentOf(pid)}`;
    if ([MARK_VARIABLE, SPAWNER_VARIABLE].some((name) => environment.includes(`\0${name}=`))) return true;
  }
  return false;
}
