import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isLiveFileName } from "./live-file.ts";

export interface RemoveOldOptions {
  /** Files last changed before this time are removed. Milliseconds since 1970. */
  readonly before: number;
  /** The oldest files are removed until the rest has at most this many bytes. The newest is always kept. */
  readonly maxBytes: number;
  /** The folder with this name is kept, even if it is empty. */
  readonly except: string;
}

/**
 * Removes old files from the folders in `root`, and empty folders. Examines only folders directly in `root` and regular
 * files directly in those. Links are neither followed nor removed. Files of running processes (`isLiveFileName`) are
 * kept and not counted. Never rejects: what cannot be removed stays.
 */
export async function removeOld(root: string, { before, maxBytes, except }: RemoveOldOptions): Promise<void> {
  const { folders, files } = await filesIn(root);
  const removable = files.filter(({ isLive }) => !isLive).toSorted((one, other) => one.modifiedMs - other.modifiedMs);
  let used = bytesOf(removable);
  for (const { path, bytes, modifiedMs } of removable.slice(0, -1)) {
    if (modifiedMs >= before && used <= maxBytes) break;
    if (await removed(path)) used -= bytes;
  }
  const newest = removable.at(-1);
  if (newest !== undefined && newest.modifiedMs < before) await removed(newest.path);
  // Fails for a folder that is not empty, as intended.
  for (const folder of folders) if (folder !== except) await rmdir(join(root, folder)).catch(() => {});
}

/**
 * Returns the bytes of the files in `root`'s folders: of files that `removeOld` limits, and of files of running
 * processes. Never rejects.
 */
export async function usedBytes(root: string): Promise<{ readonly saved: number; readonly live: number }> {
  const { files } = await filesIn(root);
  return {
    saved: bytesOf(files.filter(({ isLive }) => !isLive)),
    live: bytesOf(files.filter(({ isLive, isLinked }) => isLive && !isLinked)),
  };
}

/** Returns the disk space of a file of that many bytes, in blocks of 4 KiB. */
export function takenBytes(size: number): number {
  return Math.ceil(size / 4_096) * 4_096;
}

interface FoundFile {
  readonly path: string;
  /** See `takenBytes`. */
  readonly bytes: number;
  readonly modifiedMs: number;
  readonly isLive: boolean;
  /** True for another link to a file that is already counted. */
  readonly isLinked: boolean;
}

/** How many files are examined at a time. */
const BATCH = 64;

async function filesIn(root: string): Promise<{ readonly folders: string[]; readonly files: FoundFile[] }> {
  const folders = (await entriesOf(root)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const files: FoundFile[] = [];
  for (const folder of folders) {
    const names = (await entriesOf(join(root, folder))).filter((entry) => entry.isFile()).map(({ name }) => name);
    for (let start = 0; start < names.length; start += BATCH) {
      const batch = names.slice(start, start + BATCH).map((name) => found(join(root, folder, name), name));
      files.push(...(await Promise.all(batch)).filter((file) => file !== undefined));
    }
  }
  return { folders, files };
}

async function found(path: string, name: string): Promise<FoundFile | undefined> {
  try {
    const { size, mtimeMs: modifiedMs, nlink } = await lstat(path);
    return { path, bytes: takenBytes(size), modifiedMs, isLive: isLiveFileName(name), isLinked: nlink > 1 };
  } catch {
    return undefined; // another process removed it meanwhile
  }
}

async function entriesOf(folder: string) {
  return await readdir(folder, { withFileTypes: true }).catch(() => []);
}

function bytesOf(files: readonly FoundFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Returns true also when another process removed it first. */
async function removed(path: string): Promise<boolean> {
  return await unlink(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === "ENOENT",
  );
}
