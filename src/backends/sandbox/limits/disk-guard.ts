import { statfs } from "node:fs/promises";

export interface DiskGuardOptions {
  /** Folders on the disks to watch. A missing one is skipped. */
  readonly folders: readonly string[];
  /** Bytes that must stay free. */
  readonly diskFree: number;
  /** Called once, when a disk has less free. */
  readonly full: () => void;
}

/** A disk that has too little space from the start counts as full after it shrinks by more than this. Bytes. */
const FURTHER_FALL = 16 * 1024 * 1024;

// Milliseconds between two checks. The next check comes when half of the remaining space would be used, if the disk
// shrinks twice as fast as before, and at least at 1 GiB/s.
const FIRST = 250;
const SHORTEST = 25;
const LONGEST = 2_000;
const FAST = (1024 * 1024 * 1024) / 1_000;

/**
 * Watches the disks of some folders and calls `full` once when one has less free than it should. Counts what an
 * ordinary user may still write (statfs(2)). A disk that has too little from the start is full when it has shrunk by
 * more than 16 MiB since. A write that fills the disk between two checks (fallocate can) is only noticed afterwards.
 * Keeps no process alive. After `stop`, `full` is not called.
 */
export function guardDisk({ folders, diskFree, full }: DiskGuardOptions): { stop(): void } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let disks: readonly Disk[] = folders.map((folder) => ({ folder }));
  const look = async () => {
    disks = await Promise.all(disks.map((disk) => lookAt(disk, diskFree)));
    if (stopped) return;
    if (disks.some(isFull)) {
      stopped = true;
      full();
      return;
    }
    timer = setTimeout(() => void look(), Math.min(...disks.map(({ wait = LONGEST }) => wait), LONGEST)).unref();
  };
  void look();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

interface Disk {
  readonly folder: string;
  /** Result of the last check. `at` is as in `performance.now()`. */
  readonly seen?: { readonly free: number; readonly at: number };
  /** The disk is full below this number of free bytes. */
  readonly least?: number;
  /** Milliseconds until the next look. */
  readonly wait?: number;
}

function isFull({ seen, least = 0 }: Disk): boolean {
  return seen !== undefined && seen.free < least;
}

async function lookAt(disk: Disk, diskFree: number): Promise<Disk> {
  const free = await freeOn(disk.folder);
  if (free === undefined) return disk;
  const seen = { free, at: performance.now() };
  const least = disk.least ?? (free < diskFree ? free - FURTHER_FALL : diskFree);
  if (disk.seen === undefined) return { ...disk, seen, least, wait: FIRST };
  const speed = (2 * (disk.seen.free - free)) / Math.max(seen.at - disk.seen.at, 1); // bytes a millisecond
  const wait = (free - least) / 2 / Math.max(speed, FAST);
  return { ...disk, seen, least, wait: Math.max(wait, SHORTEST) };
}

async function freeOn(folder: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
