import { type FSWatcher, realpathSync, statfsSync, utimesSync, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { tried } from "../../core/util/errors.ts";

/**
 * File systems of this machine, on which Linux reports every write of its processes: ext4, XFS, Btrfs, tmpfs,
 * overlayfs, ZFS, F2FS, bcachefs (statfs(2)).
 */
const REPORTING = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e]);

/**
 * A write to the log is reported before its transaction is visible: SQLite flushes it first, which takes a slow disk
 * seconds, and the commit itself is a change of mapped memory, which nothing reports. So writers ring once they have
 * committed. In case one dies in between, a report without a change is followed by looks, with pauses that double from
 * the first value and end after the last one. Milliseconds.
 */
const FIRST_PAUSE_MS = 1;
const LAST_PAUSE_MS = 16_384;

/** Reports a commit to those who notice the writes to a file: touches it. Takes some microseconds. Never throws. */
export function ring(file: string): void {
  const now = Date.now() / 1_000;
  tried(() => utimesSync(file, now, now));
}

/**
 * Calls `look` soon after any process of this machine has committed to a database with a write-ahead log, and sometimes
 * needlessly, until the returned function is called. `look` returns whether it found a change. Costs nothing while
 * nobody writes. Where the system reports no writes (a network file system, another system than Linux, no watch left
 * for this user), it calls `look` every `lookMs` instead. Keeps no process alive.
 */
export function noticeWrites(file: string, look: () => boolean, lookMs: number): () => void {
  const path = tried(() => realpathSync(file)) ?? file;
  const name = basename(path);
  let timer: NodeJS.Timeout | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let watcher: FSWatcher | undefined;

  const rest = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const lookAgain = () => {
    rest();
    if (look() || pauseMs > LAST_PAUSE_MS) return;
    timer = setTimeout(lookAgain, pauseMs).unref();
    pauseMs *= 2;
  };
  const written = (_: string, changed: string | null) => {
    if (changed === name) {
      rest();
      look();
    }
    // During a series of writes, one look a millisecond is enough.
    if (changed !== `${name}-wal` || (timer !== undefined && pauseMs === 2 * FIRST_PAUSE_MS)) return;
    pauseMs = FIRST_PAUSE_MS;
    lookAgain();
  };
  const stop = () => {
    watcher?.close();
    rest();
  };
  const poll = () => {
    stop();
    timer = setInterval(look, lookMs).unref();
  };

  try {
    if (process.platform !== "linux" || !REPORTING.has(statfsSync(path).type)) throw new Error("reports no writes");
    watcher = watch(dirname(path), { persistent: false }, written);
    watcher.once("error", poll);
  } catch {
    poll();
  }
  return stop;
}
