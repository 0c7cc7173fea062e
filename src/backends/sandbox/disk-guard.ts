import { statfs } from "node:fs/promises";

export interface DiskGuardOptions {
  /** Each on a disk that is watched; one that is not there is passed over. */
  readonly folders: readonly string[];
  /** Bytes that have to stay free. */
  readonly diskFree: number;
  /** Called once, when a disk has less. */
  readonly full: () => void;
}

/** Bytes by which a disk that has too little from the start has to shrink before that counts. */
const FURTHER_FALL = 16 * 1024 * 1024;

// Milliseconds between two looks: the time in which half of what may still be written is gone, if the disk shrinks twice as fast as it just
// did, and at least at 1 GiB/s.
const FIRST = 250;
const SHORTEST = 25;
const LONGEST = 2_000;
const FAST = (1024 * 1024 * 1024) / 1_000;

/**
 * Watches the disks of some folders (what an ordinary user may still write there, statfs(2)) and calls `full` once when one has less free than
 * it should. One that has less from the start is full when it has shrunk by more than 16 MiB since. What takes all of a disk between
 * two looks (fallocate can) is seen after it happened. Keeps no process alive; after `stop`, `full` is not called.
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
  /** As it was last seen. */
  readonly seen?: { readonly free: number; readonly at: number };
  /** Bytes below which it is full. */
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
