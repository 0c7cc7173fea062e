import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { tried } from "../../core/util/errors.ts";
import { type ProcessStatus, isThere, processStatus } from "../../core/util/process-status.ts";

/** Time between TERM and KILL, to save data and stop children. Milliseconds. */
const TERM_GRACE_MS = 2_000;

/** The longest pause between two checks, in milliseconds. */
const POLL_MS = 20;

/** How long to wait after KILL: freeing gigabytes takes a second. Then it hangs in the kernel. Milliseconds. */
const KILLED_MS = 5_000;

/** How many rounds in which no process can be signalled are accepted: they belong to another user. */
const MOST_REFUSED = 20;

/**
 * Marks the outer process of a sandbox. It gets no TERM: it would die at once with everything inside, and it exits by
 * itself after its command. Commands in the sandbox do not get the variable.
 */
export const HOLDER_VARIABLE = "HANDRAIL_SANDBOX";

/** Processes that belong together. */
export interface ProcessTree {
  /** The PID of a process group's leader. Its descendants belong to the tree too. */
  readonly group?: number;
  /** Text in the environment of every process of the tree. */
  readonly mark?: string;
}

/**
 * Ends a process tree: TERM, up to two seconds of grace, KILL. A child that left the group (`setsid`, `nohup`, a double
 * fork) is found by the mark in its environment. A child that dropped its environment (`env -i`) is found as a
 * descendant while its parents live. Both need /proc of Linux; other systems end only the group. Resolves to false if
 * processes remain that cannot be ended: another user's (`sudo`), or hanging in the kernel.
 */
export async function killTree(tree: ProcessTree): Promise<boolean> {
  if (process.platform !== "linux" || tree.mark === undefined) return killGroup(tree.group ?? 0);
  /** Processes that were found stay members, even if their parent changes. The start time detects reused PIDs. */
  const known = new Map<number, string>();
  const others: Others = new Map();
  for (const pid of living(tree, known, others)) if (!isHolder(pid)) send(pid, "SIGTERM");
  const deadline = performance.now() + TERM_GRACE_MS;
  // Most processes end at once: the first check comes soon, later checks come less often.
  const isOver = () => living(tree, known, others).length === 0 || performance.now() >= deadline;
  for (let wait = 1; !isOver(); wait = Math.min(2 * wait, POLL_MS)) await pause(wait);
  // Repeated until no process is left: one may have forked while the others were killed.
  const lateMs = performance.now() + KILLED_MS;
  for (let round = 0, refused = 0; ; round++) {
    const left = living(tree, known, others);
    if (left.length === 0) return true;
    const signaled = left.filter((pid) => send(pid, "SIGKILL"));
    refused = signaled.length === 0 ? refused + 1 : 0;
    if (refused > MOST_REFUSED || performance.now() > lateMs) return false;
    await pause(Math.min(1 + round, POLL_MS));
  }
}

/** For our own programs, which start no others, and for systems without /proc. */
async function killGroup(group: number): Promise<boolean> {
  if (group === 0) return true;
  send(-group, "SIGTERM");
  if (await groupEnds(group, TERM_GRACE_MS)) return true;
  send(-group, "SIGKILL");
  return groupEnds(group, KILLED_MS);
}

/** Resolves to false if the group does not end within this time. */
async function groupEnds(group: number, milliseconds: number): Promise<boolean> {
  const deadline = performance.now() + milliseconds;
  for (let wait = 1; isThere(-group); wait = Math.min(2 * wait, POLL_MS)) {
    if (performance.now() > deadline) return false;
    await pause(wait);
  }
  return true;
}

function isHolder(pid: number): boolean {
  return `\0${environmentOf(pid)}`.includes(`\0${HOLDER_VARIABLE}=`);
}

/** True if the signal was delivered. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  return tried(() => process.kill(pid, signal)) ?? false;
}

interface Status extends ProcessStatus {
  readonly pid: number;
}

/**
 * Processes that do not belong to the tree, which are not read again: reading all takes tens of milliseconds on a busy
 * machine. An empty environment must be read twice: it may be that of a process in the middle of `exec`.
 */
type Others = Map<number, "once" | "sure">;

/** The tree's processes that have not ended. Zombies have ended; in a container they may never be reaped. */
function living({ group, mark }: ProcessTree, known: Map<number, string>, others: Others): readonly number[] {
  const all = statuses(others);
  const read = new Map<number, string>();
  for (const { pid, start, group: member } of all) {
    if (known.get(pid) === start) continue;
    known.delete(pid); // the PID belongs to another process now
    const environment = mark === undefined ? "" : environmentOf(pid);
    read.set(pid, environment);
    if (member === group || (mark !== undefined && environment.includes(mark))) known.set(pid, start);
  }
  // A parent may come after its child in the list.
  for (let before = -1; before !== known.size;) {
    before = known.size;
    for (const { pid, start, parent } of all) if (known.has(parent)) known.set(pid, start);
  }
  for (const [pid, environment] of read) {
    if (!known.has(pid)) others.set(pid, environment !== "" || others.has(pid) ? "sure" : "once");
  }
  return all.filter(({ pid, start }) => known.get(pid) === start).map(({ pid }) => pid);
}

/** All processes but this one and those that are surely others. Forgets others that have ended: a PID may be reused. */
function statuses(others: Others): readonly Status[] {
  const pids = readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  const present = new Set(pids);
  for (const pid of others.keys()) if (!present.has(pid)) others.delete(pid);
  return pids.flatMap((pid) => {
    if (others.get(pid) === "sure") return [];
    const status = processStatus(pid);
    return status === undefined || status.ended ? [] : [{ pid, ...status }];
  });
}

/** The environment of a process; "" if it has ended or belongs to another user. */
export function environmentOf(pid: number): string {
  return tried(() => readFileSync(`/proc/${pid}/environ`, "latin1")) ?? "";
}
