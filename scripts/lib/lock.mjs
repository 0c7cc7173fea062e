/**
 * Runs work in one process at a time on this machine: two concurrent `npm test` must not both install or build.
 *
 * In:  a name.
 * Out: the lock is a file in the system's temporary folder that contains the owner's process id. The lock of a process
 *      that has exited is taken over.
 */
import { createHash } from "node:crypto";
import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const POLL_MS = 50;
/** Longer than any install or build takes. */
const LONGEST_MS = 15 * 60_000;

/**
 * Runs `work` while holding the lock. Waits for the lock while its owner is alive.
 *
 * @template T
 * @param {string} name
 * @param {() => T} work
 * @returns {T}
 */
export function withLock(name, work) {
  const file = lockFile(name);
  while (!take(file)) sleep(POLL_MS);
  try {
    return work();
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * The same for asynchronous work.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLockAsync(name, work) {
  const file = lockFile(name);
  while (!take(file)) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** @param {string} name */
function lockFile(name) {
  return join(tmpdir(), `handrail-${createHash("sha256").update(name).digest("hex").slice(0, 16)}.lock`);
}

/** @param {string} file */
function take(file) {
  const claim = `${file}.${process.pid}`;
  writeFileSync(claim, String(process.pid));
  try {
    // Creating a link is atomic: it includes the id, or fails because another process has the lock.
    linkSync(claim, file);
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (isAbandoned(file)) rmSync(file, { force: true });
    return false;
  } finally {
    rmSync(claim, { force: true });
  }
}

/**
 * Returns true when the owner is gone, or has held the lock for so long that another process must have its id by now.
 *
 * @param {string} file
 */
function isAbandoned(file) {
  try {
    if (Date.now() - statSync(file).mtimeMs > LONGEST_MS) return true;
    process.kill(Number(readFileSync(file, "utf8")), 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** @param {number} ms */
function sleep(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
