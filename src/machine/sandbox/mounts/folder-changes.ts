import { type FSWatcher, mkdirSync, rmSync, statfsSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { textOf } from "../read-files.ts";

/** File systems of this machine that report each change: ext4, xfs, btrfs, tmpfs, f2fs, overlay (statfs(2)). */
const LOCAL = new Set([0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630]);

/** Pause after missed changes, in milliseconds. A build that made that many changes makes more. */
const PAUSE_MS = 30_000;

/** Its content changes with every mount. */
const MOUNTS = "/proc/self/mountinfo";

/** How long to wait for the kernel to report a change, in milliseconds. */
const LONGEST_MS = 1_000;

/**
 * Tracks folders in which no name was created, removed or renamed, with inotify(7). A folder counts as unchanged only
 * if this is certain. It is not certain if the kernel may have dropped changes (its queue is limited), if the folder
 * cannot be watched, or if the mounts of the machine have changed.
 */
export type FolderChanges = ReturnType<typeof folderChanges>;

/** Creates a tracker. In the folder `own` it creates files, to see when the kernel has reported everything. */
export function folderChanges(own: string) {
  const limits = { watches: limitOf("max_user_watches", 8_192) / 4, events: limitOf("max_queued_events", 16_384) / 4 };
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  /** Folders whose name was created, removed or renamed: another folder may have it now. */
  const replaced = new Set<string>();
  const waiting = new Map<string, () => void>();
  let count = 0;
  let events = 0;
  let resumesAt = 0;
  let version = 0;
  let signals: FSWatcher | undefined;
  let mounts: string | undefined;

  const forget = () => {
    version++;
    for (const watcher of watchers.values()) watcher.close();
    watchers.clear();
    changed.clear();
    replaced.clear();
  };
  const pause = (until = Date.now() + PAUSE_MS) => {
    resumesAt = until;
    forget();
  };
  /** @throws The system's error when it cannot be watched. */
  const open = (folder: string, listener: (type: string, name: string | null) => void): FSWatcher => {
    const watcher = watch(folder, { persistent: false }, listener);
    watcher.on("error", () => pause());
    return watcher;
  };
  const begin = () => {
    if (watchers.size === 0) mounts = textOf(MOUNTS);
    if (signals !== undefined) return;
    mkdirSync(own, { recursive: true, mode: 0o700 });
    signals = open(own, (_, name) => waiting.get(name ?? "")?.());
  };

  return {
    /** Waits until every change made before the call is known. Never rejects. */
    async settle(): Promise<void> {
      if (watchers.size === 0) return;
      const name = String(count++);
      const told = new Promise<boolean>((resolve) => {
        const timer = setTimeout(resolve, LONGEST_MS, false);
        waiting.set(name, () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      try {
        writeFileSync(join(own, name), "");
        rmSync(join(own, name));
        if (!(await told) || events >= limits.events) pause();
      } catch {
        pause();
      }
      waiting.delete(name);
      if (waiting.size === 0) events = 0; // otherwise calls that still wait would count too few reports
      if (mounts !== textOf(MOUNTS)) forget();
      if (replaced.size === 0) return;
      version++;
      for (const [folder, watcher] of watchers) {
        if (!isWithin(folder, replaced)) continue;
        watcher.close();
        watchers.delete(folder);
      }
      replaced.clear();
    },
    /** Whether the folder has had the same names since `watch`, as of the last `settle`. */
    isUnchanged: (folder: string) => watchers.has(folder) && !changed.has(folder),
    isWatched: (folder: string) => watchers.has(folder),
    /** A number that is the same as long as no unchanged folder has changed or is watched no more. */
    version: () => version,
    /** Starts to watch a folder (a real path), or forgets its changes so far. Call it before reading the folder. */
    watch(folder: string) {
      changed.delete(folder);
      if (watchers.has(folder) || Date.now() < resumesAt) return;
      try {
        begin();
        if (watchers.size >= limits.watches || !LOCAL.has(statfsSync(folder).type)) return;
        const watcher = open(folder, (type, name) => {
          events++;
          if (type !== "rename") return;
          version++;
          changed.add(folder);
          if (name !== null && watchers.has(join(folder, name))) replaced.add(join(folder, name));
        });
        watchers.set(folder, watcher);
      } catch {
        pause(Number.POSITIVE_INFINITY); // this user has no watches left
      }
    },
    /** Stops watching all folders, after one of them was replaced. */
    forget,
    /** Stops watching for good. */
    close() {
      pause(Number.POSITIVE_INFINITY);
      signals?.close();
    },
  };
}

function isWithin(folder: string, others: ReadonlySet<string>): boolean {
  for (let at = folder; at !== dirname(at); at = dirname(at)) if (others.has(at)) return true;
  return false;
}

function limitOf(name: string, otherwise: number): number {
  return Number(textOf(`/proc/sys/fs/inotify/${name}`)) || otherwise;
}
