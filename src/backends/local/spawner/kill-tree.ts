import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type ProcessStatus, processStatus } from "../../../util/process-status.ts";

/** Between TERM and KILL: time to write what is unsaved and to stop children. */
const TERM_GRACE_MS = 2_000;

/** How often it is looked, at the least, whether all have ended. */
const POLL_MS = 20;

/** What was killed is gone after so long at the latest, or hangs in the system: a program with gigabytes of memory takes a second. */
const KILLED_MS = 5_000;

/** So often it is looked for one that could be killed, where none of those that are left can: they are another user's. */
const MOST_REFUSED = 20;

/**
 * The variable of a process that holds a sandbox: it dies of TERM at once, and all that is in the sandbox with it. It ends by itself when what it
 * holds has ended, so TERM is not for it. Whoever starts one keeps the variable from what runs inside.
 */
export const HOLDER_VARIABLE = "HANDRAIL_SANDBOX";

/** Processes that belong together. */
export interface ProcessTree {
  /** A process group, by the process that leads it: that one and its descendants count too. */
  readonly group?: number;
  /** Text that stands in the environment of each of them. */
  readonly mark?: string;
}

/**
 * Ends a process tree: TERM, up to two seconds of grace, KILL. A child that left the group (`setsid`, `nohup`, a double fork) is found by the
 * mark in its environment, and one that threw that away (`env -i`) as long as its parents live, as a descendant. Both only on Linux, where
 * /proc shows them; elsewhere the group is all there is. Resolves to false when some are left that nothing ends: another user's (`sudo`), or hanging in the system.
 */
export async function killTree(tree: ProcessTree): Promise<boolean> {
  if (process.platform !== "linux" || tree.mark === undefined) return killGroup(tree.group ?? 0);
  /** Found once, a process stays one of them, whoever becomes its parent. By its start, for a number may be used again. */
  const known = new Map<number, string>();
  signalAll(
    living(tree, known).filter((pid) => !isHolder(pid)),
    "SIGTERM",
  );
  const deadline = performance.now() + TERM_GRACE_MS;
  // Most end at once: looked at soon, then less and less often.
  for (let wait = 1; living(tree, known).length > 0 && performance.now() < deadline; wait = Math.min(2 * wait, POLL_MS))
    await pause(wait);
  // Again until none is left: one may have been forking while the others were killed.
  const lateMs = performance.now() + KILLED_MS;
  for (let round = 0, refused = 0; ; round++) {
    const left = living(tree, known);
    if (left.length === 0) return true;
    const signaled = left.filter((pid) => send(pid, "SIGKILL"));
    refused = signaled.length === 0 ? refused + 1 : 0;
    if (refused > MOST_REFUSED || performance.now() > lateMs) return false;
    await pause(Math.min(1 + round, POLL_MS));
  }
}

/** A program of ours that starts no others needs no looking around; and where nobody can look, this is all that can be done. */
async function killGroup(group: number): Promise<boolean> {
  if (group === 0) return true;
  send(-group, "SIGTERM");
  if (await groupEnds(group, TERM_GRACE_MS)) return true;
  send(-group, "SIGKILL");
  return groupEnds(group, KILLED_MS);
}

/** False: not within so many milliseconds. */
async function groupEnds(group: number, milliseconds: number): Promise<boolean> {
  const deadline = performance.now() + milliseconds;
  for (let wait = 1; isThere(-group); wait = Math.min(2 * wait, POLL_MS)) {
    if (performance.now() > deadline) return false;
    await pause(wait);
  }
  return true;
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) send(pid, signal);
}

function isHolder(pid: number): boolean {
  return `\0${environmentOf(pid)}`.includes(`\0${HOLDER_VARIABLE}=`);
}

/** True for what there is, though it may be another user's. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** True when there was something that took it. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

interface Status extends ProcessStatus {
  readonly pid: number;
}

/** The tree's processes that have not ended: one that was not reaped has, and in a container nobody may ever do that. */
function living({ group, mark }: ProcessTree, known: Map<number, string>): readonly number[] {
  const all = statuses();
  for (const { pid, start, group: member } of all) {
    if (known.get(pid) === start) continue;
    known.delete(pid); // the number of another process by now
    if (member === group || (mark !== undefined && environmentOf(pid).includes(mark))) known.set(pid, start);
  }
  // A parent may stand behind its child in the list.
  for (let before = -1; before !== known.size;) {
    before = known.size;
    for (const { pid, start, parent } of all) if (known.has(parent)) known.set(pid, start);
  }
  return all.filter(({ pid, start }) => known.get(pid) === start).map(({ pid }) => pid);
}

function statuses(): readonly Status[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    const status = processStatus(pid);
    return status === undefined || status.ended ? [] : [{ pid, ...status }];
  });
}

/** Its environment; nothing where it has ended meanwhile, or is another user's. */
export function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}
