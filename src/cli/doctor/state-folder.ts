import { constants } from "node:fs";
import { access, stat, statfs, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stateFolder } from "../../config/state.ts";
import { formatSize } from "../../output/size.ts";
import { randomName } from "../../util/identifier.ts";
import { createPrivateFile } from "../../util/private-file.ts";
import { quoteWord } from "../../util/quote.ts";
import type { Check } from "./check.ts";

/** With less free space than this, in bytes, a record or a saved output may soon fail to be written. */
const LEAST_FREE = 100 * 1024 * 1024;

/**
 * Checks the folder of records, outputs and trust: it exists or can be created, only the user has access, it is
 * writable, and there is free space.
 */
export const stateFolderCheck: Check = {
  name: "state folder",
  required: true,
  fix: `mkdir -p -m 700 ${quoteWord(stateFolder())}`,
  async run() {
    const folder = stateFolder();
    const there = await nearestThere(folder);
    if (!there.isFolder) {
      return {
        status: "broken",
        detail: `${there.path} is not a folder`,
        fix: `mv ${quoteWord(there.path)} ${quoteWord(`${there.path}.old`)}`,
      };
    }
    if (there.path !== folder && !(await isWritable(there.path))) {
      const fix = `sudo install -d -m 700 -o "$(id -u)" ${quoteWord(folder)}`;
      return { status: "broken", detail: `${folder} cannot be created: ${there.path} is not writable`, fix };
    }
    if (there.path === folder && (there.mode & 0o077) !== 0) {
      const mode = (there.mode & 0o777).toString(8);
      return {
        status: "broken",
        detail: `${folder} is open to others (mode ${mode})`,
        fix: `chmod 700 ${quoteWord(folder)}`,
      };
    }
    if (there.path === folder) await tryWriting(folder);
    const { bavail, bsize } = await statfs(there.path);
    const free = bavail * bsize;
    if (free < LEAST_FREE) {
      return {
        status: "broken",
        detail: `only ${formatSize(free)} free in ${folder}`,
        fix: `df -h ${quoteWord(there.path)}`,
      };
    }
    const state = there.path === folder ? "" : ", made when it is needed";
    return { status: "ok", detail: `${folder} (${formatSize(free)} free${state})` };
  },
};

/** Returns the folder, or the nearest existing folder above it. */
async function nearestThere(path: string): Promise<{ path: string; mode: number; isFolder: boolean }> {
  try {
    const info = await stat(path);
    return { path, mode: info.mode, isFolder: info.isDirectory() };
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
    if (!isMissing || path === dirname(path)) throw error;
    return await nearestThere(dirname(path));
  }
}

async function isWritable(folder: string): Promise<boolean> {
  return await access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function tryWriting(folder: string): Promise<void> {
  const name = `.doctor-${randomName(8)}`;
  const file = await createPrivateFile(folder, name);
  try {
    await file.writeFile("ok\n");
  } finally {
    await file.close();
    await unlink(join(folder, name)).catch(() => undefined);
  }
}
