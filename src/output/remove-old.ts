import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";

export interface RemoveOldOptions {
  /** Milliseconds since 1970: files last changed before this are removed. */
  readonly before: number;
  /** The folder of this name stays, also when it is empty. */
  readonly except: string;
}

/**
 * Removes old files from the folders in `root`, and folders that are empty. Looks only at folders directly in `root` and at
 * regular files directly in those; a link is neither followed nor removed. Never rejects: what cannot be removed stays.
 */
export async function removeOld(root: string, { before, except }: RemoveOldOptions): Promise<void> {
  for (const entry of await entriesOf(root)) {
    if (!entry.isDirectory()) continue;
    const folder = join(root, entry.name);
    for (const file of await entriesOf(folder)) {
      if (file.isFile()) await removeIfOlder(join(folder, file.name), before);
    }
    // Fails where something is left, as it should.
    if (entry.name !== except) await rmdir(folder).catch(() => {});
  }
}

async function entriesOf(folder: string) {
  return await readdir(folder, { withFileTypes: true }).catch(() => []);
}

async function removeIfOlder(path: string, before: number): Promise<void> {
  try {
    const { mtimeMs } = await lstat(path);
    if (mtimeMs < before) await unlink(path);
  } catch {
    // Another process was quicker, or may not be hindered: it is tried again at the next occasion.
  }
}
