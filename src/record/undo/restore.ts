import { createHash } from "node:crypto";
import { type Stats, constants } from "node:fs";
import { type FileHandle, chmod, lstat, mkdir, open, readlink, rename, rmdir, symlink, unlink } from "node:fs/promises";
import { codeOf, messageOf } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import type { ObjectReader } from "./git.ts";
import { restoreLarge } from "./large.ts";
import type { Item, UndoStore } from "./log.ts";
import { parentsOf } from "./paths.ts";
import type { Change } from "./plan.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Opens a folder without permission to list it (open(2)). Only on Linux. */
const O_PATH = 0o10000000;
const FOLDER = O_DIRECTORY | O_NOFOLLOW | (process.platform === "linux" ? O_PATH : O_RDONLY);

/** A path that could not be restored, and why. */
export interface Failure {
  readonly path: string;
  readonly reason: string;
}

/**
 * Restores each path of the workspace. Follows no link, neither at the path nor on the way to it: each folder is opened
 * within the one above it. A file is written next to the old one and renamed when it is complete. A path that has
 * changed since the plan stays as it is. Never removes a folder that is not empty.
 *
 * @returns what could not be restored; everything else was
 */
export async function restoreAll(
  { path: store, workDir: root }: Pick<UndoStore, "path" | "workDir">,
  changes: readonly Change[],
  reader: ObjectReader,
): Promise<readonly Failure[]> {
  const failures = new Map<string, string>();
  const attempt = async (some: readonly Change[], work: (change: Change) => Promise<void>) => {
    for (const change of some) {
      const { path } = change;
      if (path.split("/").some(isForbidden) || failures.has(path)) continue;
      await work(change).catch((error: unknown) => failures.set(path, reasonOf(error)));
    }
  };
  const deepestFirst = changes.toReversed();
  const isFolder = (item: Item | undefined) => item?.kind === "folder";
  const wasFolder = changes.filter(({ past }) => isFolder(past));

  // A folder without access for us is made accessible for the time being.
  await attempt(
    wasFolder.filter(({ now }) => isFolder(now)),
    ({ path }) => setMode(root, path, 0o700),
  );
  await attempt(
    deepestFirst.filter(
      ({ now, past }) => now !== undefined && !isFolder(now) && (past === undefined || isFolder(past)),
    ),
    ({ path, now }) =>
      inParent(root, path, async (at) => {
        await requireUnchanged(at, now);
        await unlink(at).catch((error: unknown) => {
          if (codeOf(error) !== "ENOENT") throw error;
        });
      }),
  );
  await attempt(
    deepestFirst.filter(({ now, past }) => isFolder(now) && !isFolder(past)),
    ({ path }) => inParent(root, path, removeFolder),
  );
  await attempt(
    wasFolder.filter(({ now }) => !isFolder(now)),
    ({ path }) => inParent(root, path, makeFolder),
  );
  await attempt(
    changes.filter(({ past }) => past !== undefined && !isFolder(past)),
    ({ path, now, past }) =>
      inParent(root, path, async (at, beside) => {
        await requireUnchanged(at, isFolder(now) ? undefined : now);
        if (past?.kind === "large") await restoreLarge(store, past, at, beside);
        if (past?.kind === "file") await writeFileBeside(at, beside, await reader.read(past.id), past.mode);
        if (past?.kind === "link") {
          await symlink(await reader.read(past.id), beside);
          await rename(beside, at);
        }
      }),
  );
  await attempt(wasFolder.toReversed(), async ({ path, past }) => {
    if (past?.kind === "folder") await setMode(root, path, past.mode);
  });
  return [...failures].map(([path, reason]) => ({ path, reason }));
}

function isForbidden(name: string): boolean {
  return name === "" || name === "." || name === "..";
}

async function writeFileBeside(at: Buffer, beside: Buffer, content: Buffer, mode: number): Promise<void> {
  const file = await open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(content);
    await file.chmod(mode & 0o777); // drops setuid and setgid, so that restored content never runs as another user
    await rename(beside, at);
  } catch (error) {
    await unlink(beside).catch(() => {});
    throw error;
  } finally {
    await file.close();
  }
}

/** A pipe or a socket, which no state has: nothing is lost with it. */
const hasNoContent = (info: Stats) => info.isFIFO() || info.isSocket();

/** Throws if the path has changed since the plan was made. Removes a pipe or a socket. */
async function requireUnchanged(at: Buffer, expected: Item | undefined): Promise<void> {
  const info = await lstat(at).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    return undefined;
  });
  if (info === undefined) return;
  if (hasNoContent(info)) return unlink(at);
  if (info.isDirectory()) throw new Error("a folder is now in its place, with content that was not kept");
  const isSame =
    (expected?.kind === "unkept" && expected.size === info.size && expected.changedAt === info.mtimeMs) ||
    (expected?.kind === "large" && info.isFile() && expected.size === info.size) ||
    (expected?.kind === "link" && info.isSymbolicLink() && expected.id === idOf(await readlink(at, "buffer"))) ||
    (expected?.kind === "file" && info.isFile() && [expected.id, undefined].includes(await idOfFile(at)));
  if (!isSame) throw new Error("it was changed since the preview");
}

/** Returns `undefined` for a file that only root can read, which nobody else can have written. */
async function idOfFile(at: Buffer): Promise<string | undefined> {
  const file = await open(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    if (codeOf(error) !== "EACCES") throw error;
    return undefined;
  });
  try {
    return file && idOf(await file.readFile());
  } finally {
    await file?.close();
  }
}

/** Returns git's object id of the content. */
function idOf(content: Buffer): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

async function removeFolder(at: Buffer): Promise<void> {
  await rmdir(at).catch((error: unknown) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "")) throw error;
  });
}

async function makeFolder(at: Buffer): Promise<void> {
  await mkdir(at, 0o700).catch(async (error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
    if (!hasNoContent(await lstat(at))) return;
    await unlink(at);
    await mkdir(at, 0o700);
  });
}

async function setMode(root: string, path: string, mode: number): Promise<void> {
  await inParent(root, `${path}/.`, async (_, __, folder) => {
    // On Linux this names the opened folder, even if it was renamed meanwhile.
    await chmod(process.platform === "linux" ? `/proc/self/fd/${folder.handle.fd}` : folder.path, mode);
  });
}

/** An open folder. */
interface Folder {
  readonly handle: FileHandle;
  readonly path: Buffer;
}

/**
 * Calls `work` with a path whose folder is held open, and the path of a new file next to it. Creates missing folders.
 * Node has no openat(2); on Linux, a path below /proc/self/fd/N is equivalent. On other systems, a folder can be
 * replaced with a link after it was checked.
 */
async function inParent(
  root: string,
  path: string,
  work: (at: Buffer, beside: Buffer, folder: Folder) => Promise<void>,
): Promise<void> {
  const below = ({ handle, path: own }: Folder, name: string) =>
    Buffer.concat([
      process.platform === "linux" ? Buffer.from(`/proc/self/fd/${handle.fd}`) : own,
      Buffer.from(`/${name}`, "latin1"),
    ]);
  let folder: Folder = { handle: await open(root, FOLDER), path: Buffer.from(root) };
  try {
    for (const parent of parentsOf(path)) {
      const name = parent.slice(parent.lastIndexOf("/") + 1);
      const at = below(folder, name);
      const handle = await open(at, FOLDER).catch(async (error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
        await mkdir(at);
        return open(at, FOLDER);
      });
      await folder.handle.close();
      folder = { handle, path: at };
    }
    const name = path.slice(path.lastIndexOf("/") + 1);
    await work(below(folder, name), below(folder, `.handrail-${randomName(12)}.tmp`), folder);
  } finally {
    await folder.handle.close();
  }
}

function reasonOf(error: unknown): string {
  switch (codeOf(error)) {
    case "ELOOP":
    case "ENOTDIR":
      return "one of its parent folders is now a link or a file";
    case "EISDIR":
      return "a folder that is not empty is now in its place";
    case "ENOSPC":
      return "the disk is full";
    default:
      return messageOf(error);
  }
}
