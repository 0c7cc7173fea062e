import { readFile, readdir } from "node:fs/promises";
import { pause } from "../../util/abort.ts";

/** Between TERM and KILL: time to write what is unsaved and to stop children. */
const TERM_GRACE_MS = 2_000;

/** How often it is looked whether all have ended. */
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
  const needle = `${PROCESS_MARK}=${backend}.`;
  await end({
    signal: async (signal) => {
      for (const pid of await markedProcesses(needle)) send(pid, signal);
    },
    alive: async () => (await markedProcesses(needle)).length > 0,
  });
}

/**
 * Ends a process group and everything that carries the mark: TERM, up to two seconds of grace, KILL. Children that left the group
 * (`setsid`, `nohup`, a double fork) still carry the mark in their environment; only Linux can look there.
 */
export async function killTree(pid: number, mark: Mark): Promise<void> {
  const needle = `${PROCESS_MARK}=${markValue(mark)}\0`;
  await end({
    signal: async (signal) => {
      send(-pid, signal);
      for (const marked of await markedProcesses(needle)) send(marked, signal);
    },
    alive: async () => send(-pid, 0) || (await markedProcesses(needle)).length > 0,
  });
}

interface Group {
  signal(signal: NodeJS.Signals): Promise<void>;
  alive(): Promise<boolean>;
}

async function end({ signal, alive }: Group): Promise<void> {
  await signal("SIGTERM");
  const deadline = performance.now() + TERM_GRACE_MS;
  while ((await alive()) && performance.now() < deadline) await pause(POLL_MS);
  // Again until none is left: one may have been forking while the others were killed.
  for (let round = 0; round < 50 && (await alive()); round++) {
    await signal("SIGKILL");
    await pause(POLL_MS);
  }
}

/** True when there was something to send it to. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Living processes in whose environment the text stands. */
async function markedProcesses(text: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return [];
  const needle = Buffer.from(text);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const marked = await Promise.all(pids.map(async (pid) => ((await carries(pid, needle)) ? pid : undefined)));
  return marked.filter((pid) => pid !== undefined);
}

async function carries(pid: number, needle: Buffer): Promise<boolean> {
  if (pid === process.pid) return false;
  try {
    return (await readFile(`/proc/${pid}/environ`)).includes(needle); // empty for one that has ended but was not reaped
  } catch {
    return false; // ended meanwhile, or another user's
  }
}
