import { rmSync, symlinkSync } from "node:fs";
import { readFile, readlink, rename, symlink, unlink } from "node:fs/promises";
import { pause } from "./abort.ts";
import { randomName } from "./identifier.ts";
import { hasCode } from "./private-file.ts";
import { processStatus } from "./process-status.ts";

/** How often a taken lock is retried, in milliseconds. */
const RETRY_MS = 15;

/**
 * Runs `work` while no other process holds the lock, a link in an existing folder that names its process. Takes over
 * the lock of a process that has died.
 *
 * @param what the thing that is locked, for the message
 * @param patienceMs how long to wait for another process. Default 60 seconds.
 * @throws Error when another process holds it for longer, and what `work` throws.
 */
export async function withLockFile<T>(
  lock: string,
  what: string,
  work: () => Promise<T>,
  patienceMs = 60_000,
): Promise<T> {
  for (const deadline = Date.now() + patienceMs; !(await isTaken(lock)); await pause(RETRY_MS)) {
    if (Date.now() > deadline) throw new Error(`another process of Handrail uses ${what}; try again later`);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * Creating a link is atomic, so a lock always names its process. Synchronous, because an act that changes one file
 * waits for it: it takes microseconds.
 */
async function isTaken(lock: string): Promise<boolean> {
  try {
    symlinkSync(thisProcess(), lock);
    return true;
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  const owner = await ownerOf(lock);
  if (owner === undefined) return false;
  const [pid = "", start = ""] = owner.split(":");
  if (isAlive(Number(pid), start)) return false;
  // If several processes see a stale lock, one of them removes it: only one rename succeeds. A new lock that was moved
  // by mistake is put back.
  const stale = `${lock}-${randomName(8)}.stale`;
  const isMoved = await rename(lock, stale).then(
    () => true,
    () => false,
  );
  if (!isMoved) return false;
  const moved = await ownerOf(stale);
  if (moved !== undefined && moved !== owner) await symlink(moved, lock).catch(() => {});
  await unlink(stale);
  return false;
}

/** The process that a lock names; `undefined` without a lock. The locks of older versions are files. */
async function ownerOf(lock: string): Promise<string | undefined> {
  return readlink(lock)
    .catch(() => readFile(lock, "latin1"))
    .catch(() => undefined);
}

let own: string | undefined;

/** Returns the id and the start of this process, which no later process shares. Read once. */
export function thisProcess(): string {
  return (own ??= `${process.pid}:${processStatus(process.pid)?.start ?? ""}`);
}

/** Returns true while the process with this id and start runs. */
export function isAlive(pid: number, start: string): boolean {
  const status = processStatus(pid);
  if (status !== undefined) return !status.ended && status.start === start;
  if (process.platform === "linux") return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}
