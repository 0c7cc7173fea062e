import { linkSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { link, readFile, rename, unlink } from "node:fs/promises";
import { pause } from "./abort.ts";
import { randomName } from "./identifier.ts";
import { hasCode } from "./private-file.ts";
import { processStatus } from "./process-status.ts";

/** How often a taken lock is retried, in milliseconds. */
const RETRY_MS = 15;

/**
 * Runs `work` while no other process holds the lock, a file in an existing folder. Takes over the lock of a process
 * that has died.
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
  const own = `${lock}-${randomName(8)}.tmp`;
  // Synchronous, because an act that changes one file waits for it: each takes microseconds.
  writeFileSync(own, thisProcess(), { mode: 0o600 });
  try {
    for (const deadline = Date.now() + patienceMs; !(await isTaken(own, lock)); await pause(RETRY_MS)) {
      if (Date.now() > deadline) throw new Error(`another process of Handrail uses ${what}; try again later`);
    }
  } finally {
    unlinkSync(own);
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Creating a link is atomic, so a lock always names its process. */
async function isTaken(own: string, lock: string): Promise<boolean> {
  try {
    linkSync(own, lock);
    return true;
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  const owner = await readFile(lock, "latin1").catch(() => undefined);
  if (owner === undefined) return false;
  const [pid = "", start = ""] = owner.split(":");
  if (isAlive(Number(pid), start)) return false;
  // If several processes see a stale lock, one of them removes it: only one rename succeeds. A new lock that was moved
  // by mistake is put back.
  const stale = `${own}.stale`;
  const isMoved = await rename(lock, stale).then(
    () => true,
    () => false,
  );
  if (!isMoved) return false;
  if ((await readFile(stale, "latin1")) !== owner) await link(stale, lock).catch(() => {});
  await unlink(stale);
  return false;
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
