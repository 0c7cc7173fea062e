import { readFile, readdir } from "node:fs/promises";
import { pause } from "../../util/abort.ts";

/** Between TERM and KILL: time to write what is unsaved and to stop children. */
const TERM_GRACE_MS = 2_000;

/** How often it is looked, at the least, whether all have ended. */
const POLL_MS = 20;

/** The variable that marks what a process started, so that it is found again after `setsid` or a double fork. */
export const PROCESS_MARK = "HANDRAIL_PROCESS";

/** A mark is unique to a process and begins with its backend's, so that all of a backend's are found by that. */
export interface Mark {
  readonly backend: string;
  readonly process: string;
}

/** The value of the marking variable. */
export function markValue({ backend, process }: Mark): string {
  return `${backend}.${process}`;
}

/** Ends whatever a backend started that still lives: background children of commands that have long ended. */
export async function killLeftovers(backend: string): Promise<void> {
  await end({ mark: `${PROCESS_MARK}=${backend}.` });
}

/**
 * Ends a process group and everything that carries the mark: TERM, up to two seconds of grace, KILL. Children that left the group
 * (`setsid`, `nohup`, a double fork) still carry the mark in their environment; only Linux can look there.
 */
export async function killTree(pid: number, mark: Mark | undefined): Promise<void> {
  await end({ group: pid, ...(mark !== undefined && { mark: `${PROCESS_MARK}=${markValue(mark)}\0` }) });
}

/** Processes that belong together: a group, by the process that leads it, and those in whose environment the mark stands. */
interface Family {
  readonly group?: number;
  readonly mark?: string;
}

async function end(family: Family): Promise<void> {
  await signalAll(family, "SIGTERM");
  const deadline = performance.now() + TERM_GRACE_MS;
  // Most end at once: looked at soon, then less and less often.
  for (let wait = 1; (await anyLives(family)) && performance.now() < deadline; wait = Math.min(2 * wait, POLL_MS))
    await pause(wait);
  // Again until none is left: one may have been forking while the others were killed.
  for (let round = 0; round < 50 && (await anyLives(family)); round++) {
    await signalAll(family, "SIGKILL");
    await pause(POLL_MS);
  }
}

async function signalAll(family: Family, signal: NodeJS.Signals): Promise<void> {
  if (family.group !== undefined) send(-family.group, signal);
  for (const pid of await living(family)) send(pid, signal);
}

async function anyLives(family: Family): Promise<boolean> {
  if (process.platform !== "linux") return family.group !== undefined && send(-family.group, 0);
  return (await living(family)).length > 0;
}

/** True when there was something to send it to. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** The family's processes that have not ended: one that was not reaped has, and in a container nobody may ever do that. */
async function living(family: Family): Promise<readonly number[]> {
  if (process.platform !== "linux") return [];
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => ((await isLiving(pid, family)) ? pid : undefined)));
  return found.filter((pid) => pid !== undefined);
}

async function isLiving(pid: number, { group, mark }: Family): Promise<boolean> {
  if (pid === process.pid) return false;
  // Nothing where it has ended meanwhile, or is another user's.
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, "latin1").catch(() => "");
  if (mark !== undefined && (await read("environ")).includes(mark)) return true; // empty once it has ended
  return group !== undefined && isLivingMember(await read("stat"), group);
}

/** From a line "1234 (name, with anything in it) S 1 1234 …": the state, the parent and the process group (proc(5)). */
function isLivingMember(stat: string, group: number): boolean {
  const [state = "", , member] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return !/[ZX]/.test(state) && Number(member) === group;
}
