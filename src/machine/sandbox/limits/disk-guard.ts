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

/** Milliseconds between two checks. A fast disk loses about 200 MiB meanwhile. */
const INTERVAL_MS = 100;

/**
 * Watches the disks of some folders and calls `full` once when one has less free than it should. Counts what an
 * ordinary user may still write (statfs(2)). A disk that has too little from the start is full when it has shrunk by
 * more than 16 MiB since. A write that fills the disk between two checks (fallocate can) is only noticed afterwards.
 * Keeps no process alive. After `stop`, `full` is not called.
 */
export function guardDisk({ folders, diskFree, full }: DiskGuardOptions): { stop(): void } {
  /** By folder: below this number of free bytes its disk is full. */
  const least = new Map<string, number>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const isFull = async (folder: string) => {
    const info = await statfs(folder).catch(() => undefined);
    if (info === undefined) return false;
    const free = info.bavail * info.bsize;
    const bound = least.get(folder) ?? (free < diskFree ? free - FURTHER_FALL : diskFree);
    least.set(folder, bound);
    return free < bound;
  };
  const look = async () => {
    const found = await Promise.all(folders.map(isFull));
    if (stopped) return;
    if (!found.includes(true)) timer = setTimeout(() => void look(), INTERVAL_MS).unref();
    else full();
  };
  void look();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
