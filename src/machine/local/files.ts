import { isUtf8 } from "node:buffer";
import { constants, realpathSync } from "node:fs";
import { mkdir, rm, stat } from "node:fs/promises";
import type { BigIntStats } from "node:fs";
import { posix } from "node:path";
import type { FileEntry, FileInfo, FileKind, Files, OpenFile, PathOptions } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { codeOf } from "../../core/util/errors.ts";
import { randomName } from "../../core/util/identifier.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import { changed, fileFailure, notAFolder, notGiven, otherVersion, requireRegular } from "./failures.ts";
import {
  EXACTLY,
  type FileSystem,
  type Handle,
  POOLED,
  SMALL,
  SYNCHRONOUS,
  ignoreMissing,
  isMissing,
} from "./file-system.ts";
import { createOwnDisks } from "./own-disks.ts";

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Linux follows at most 40 links on a path (path_resolution(7)). */
const MAX_LINKS = 40;

/** The mode bits that a written file keeps. New content does not inherit setuid or setgid from the old content. */
const KEPT_MODE = 0o777;

/** How many entries of a folder are read at the same time. */
const STAT_BATCH = 64;

/** Buffers for less of a file save nothing. In bytes. */
const SMALLEST_READ = 4_096;

/** Larger folders (in bytes: a few thousand names on `own-disks.ts`) are read on the thread pool. */
const SMALL_FOLDER = 64 * 1024;

/**
 * Creates the files of this machine. It opens real paths, and checks what it opened before use, so a link that was
 * swapped in at the last moment is refused, not followed. Small operations on disks of this machine are synchronous:
 * waiting for a thread takes longer than the work.
 */
export function localFiles(base: Base): Files {
  const isOwn = createOwnDisks();
  const onDisk = async (folder: string) => ((await isOwn(folder)) ? SYNCHRONOUS : POOLED);
  const resolve = async (path: string, { real = false }: PathOptions = {}) => {
    const absolute = absolutePath(path, base);
    if (real) return absolute;
    const disk = await onDisk(posix.dirname(absolute));
    // A link may lead to a slow disk.
    return realPathOf(disk, absolute, 0, disk === SYNCHRONOUS && (await isLink(disk, absolute)) ? POOLED : disk);
  };
  const diskOf = (real: string) => onDisk(posix.dirname(real));

  return {
    realPath: (path) => resolve(path),
    async stat(path, options) {
      try {
        const real = await resolve(path, options);
        const disk = await diskOf(real);
        const stats = await disk.lstatExactly(real);
        // Resolved again afterwards, because a real path contains no link.
        if (stats.isSymbolicLink() || (await disk.realpath(real)) !== real) throw changed(path);
        return infoOf(real, stats);
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw fileFailure(error, path);
      }
    },
    async open(path, options) {
      const real = await resolve(path, options);
      return openRegular(await diskOf(real), real, path);
    },
    async list(path, options) {
      const folder = await resolve(path, options);
      const disk = await onDisk(folder);
      try {
        return await inFolder(disk, folder, path, async (at, handle) => {
          const { size } = await handle.stat(EXACTLY);
          return entriesOf(size <= SMALL_FOLDER ? disk : POOLED, at("."));
        });
      } catch (error) {
        const info = codeOf(error) === "ENOTDIR" ? await stat(folder).catch(ignoreMissing) : undefined;
        if (info !== undefined) throw notAFolder(kindOf(info), path);
        throw fileFailure(error, path);
      }
    },
    async write(path, bytes, options) {
      const real = await resolve(path, options);
      const disk = await diskOf(real);
      return replaceFile(disk, real, path, bytes, options?.replaces);
    },
    async remove(path, options) {
      const absolute = absolutePath(path, base);
      if (absolute === "/") throw new ToolFailure("The root folder cannot be removed");
      try {
        // `remove` deletes a link itself, so only links in its folder's path are followed.
        const folder = await resolve(posix.dirname(absolute), options);
        await inFolder(POOLED, folder, path, (at) => rm(at(posix.basename(absolute)), { recursive: true }));
      } catch (error) {
        throw fileFailure(error, path);
      }
    },
  };
}

async function isLink(disk: FileSystem, path: string): Promise<boolean> {
  const info = await disk.lstat(path).catch(() => undefined);
  return info?.isSymbolicLink() === true;
}

/** Resolves a path, which need not exist. `first` resolves the whole path; `disk` is for a path that does not exist. */
async function realPathOf(disk: FileSystem, path: string, links: number, first = disk): Promise<string> {
  try {
    return await first.realpath(path);
  } catch (error) {
    if (!isMissing(error)) throw fileFailure(error, path);
  }
  // The nearest existing folder, with every link followed, plus the missing names. A link to nothing is followed too:
  // writing through it would create its target. The target is not normalised: if `a` is a link, `a/..` is another
  // folder.
  const parent = posix.dirname(path);
  if (parent === path) return path;
  const pointsTo = (link: string) => disk.readlink(link).catch(() => undefined);
  // Usually the path contains no link, so both are requested at once.
  const [folder, guess] = await Promise.all([realPathOf(disk, parent, links), pointsTo(path)]);
  const here = posix.join(folder, posix.basename(path));
  const target = here === path ? guess : await pointsTo(here);
  if (target === undefined) return here;
  if (links >= MAX_LINKS) throw new ToolFailure(`The links form a circle: ${path}`);
  return realPathOf(POOLED, target.startsWith("/") ? target : `${posix.dirname(here)}/${target}`, links + 1);
}

async function openRegular(disk: FileSystem, real: string, written: string): Promise<OpenFile> {
  let file: Handle | undefined;
  try {
    // Checked before it is opened: opening a device can have effects.
    requireRegular(infoOf(real, await disk.statExactly(real)), written);
    file = await disk.open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    await requireSame(disk, file, real, written);
    const info = infoOf(real, await file.stat(EXACTLY));
    requireRegular(info, written);
    return openFile(file, info, written);
  } catch (error) {
    await file?.close();
    throw fileFailure(error, written);
  }
}

function openFile(file: Handle, info: FileInfo, written: string): OpenFile {
  return {
    info,
    async read(offset, length, into) {
      // A file has no more than its size, unless it grows or is in /proc: then its size is 0.
      const most = info.size === 0 ? length : Math.min(length, Math.max(info.size - offset, SMALLEST_READ));
      const buffer = into === undefined ? Buffer.allocUnsafe(most) : Buffer.from(into.buffer, into.byteOffset, length);
      let filled = 0;
      try {
        while (filled < buffer.length) {
          const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, offset + filled);
          filled += bytesRead;
          // Files of size 0 (as in /proc) are read until their end.
          if (bytesRead === 0 || (info.size > 0 && offset + filled >= info.size)) break;
        }
      } catch (error) {
        throw fileFailure(error, written);
      }
      return buffer.subarray(0, filled);
    },
    close: () => file.close(),
  };
}

/**
 * Writes the content to a new file beside the old one, which it then replaces: at any moment one of the two exists.
 * Only a file with several names (hard links) is overwritten in place: after a rename, only this name would have the
 * new content. A crash in the middle of that can leave a mixture of both; the policy asks first.
 *
 * @param replaces The version that is replaced. Default: any, or none.
 */
async function replaceFile(
  disk: FileSystem,
  real: string,
  written: string,
  bytes: Uint8Array,
  replaces: string | undefined,
): Promise<FileInfo> {
  try {
    const before = await disk.lstatExactly(real).catch(ignoreMissing);
    if (replaces !== undefined && (before === undefined || infoOf(real, before).version !== replaces))
      throw otherVersion(written);
    if (before?.isSymbolicLink() === true) throw changed(written);
    if (before !== undefined) requireRegular({ kind: kindOf(before) }, written);
    if (before !== undefined && before.nlink > 1n) return await overwrite(disk, real, written, bytes);
    if (before === undefined) await makeFolders(disk, posix.dirname(real), written);
    return await inFolder(disk, posix.dirname(real), written, async (at) => {
      const temporary = at(`.handrail-${randomName(12)}.tmp`);
      const file = await disk.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        await writeAt(file, bytes, 0);
        if (before !== undefined) await giveTo(file, before, written);
        await file.chmod(before === undefined ? 0o666 & ~process.umask() : Number(before.mode) & KEPT_MODE);
        // Replacing a file waits until its new content is on its way to the disk (ext4(5), auto_da_alloc).
        await (bytes.length > SMALL ? POOLED : disk).rename(temporary, at(posix.basename(real)));
        return infoOf(real, await file.stat(EXACTLY));
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      } finally {
        await file.close();
      }
    });
  } catch (error) {
    throw fileFailure(error, written);
  }
}

/** Gives the new file the owner and group of the file that it replaces. */
async function giveTo(file: Handle, { uid, gid }: BigIntStats, written: string): Promise<void> {
  const mine = await file.stat(EXACTLY);
  if (mine.uid === uid && mine.gid === gid) return;
  try {
    await file.chown(Number(uid), Number(gid));
  } catch (error) {
    throw notGiven(`${uid}:${gid}`, written, error);
  }
}

async function overwrite(disk: FileSystem, real: string, written: string, bytes: Uint8Array): Promise<FileInfo> {
  const file = await disk.open(real, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    await requireSame(disk, file, real, written);
    const stats = await file.stat(EXACTLY);
    const [size, mode] = [Number(stats.size), Number(stats.mode)];
    if ((mode & 0o7777 & ~KEPT_MODE) !== 0) await file.chmod(mode & KEPT_MODE);
    // The part beyond the old size is written first: if the disk is full, the old content is still whole.
    await writeAt(file, bytes.subarray(size), size).catch(async (error: unknown) => {
      await file.truncate(size);
      throw error;
    });
    await writeAt(file, bytes.subarray(0, size), 0);
    await file.truncate(bytes.length);
    return infoOf(real, await file.stat(EXACTLY));
  } finally {
    await file.close();
  }
}

async function writeAt(file: Handle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
  }
}

/** Calls `work` with paths in an open folder, which cannot be swapped for a link. Replaces openat (Linux). */
async function inFolder<T>(
  disk: FileSystem,
  folder: string,
  written: string,
  work: (at: (name: string) => string, handle: Handle) => Promise<T>,
): Promise<T> {
  const handle = await disk.open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    await requireSame(disk, handle, folder, written);
    const prefix = process.platform === "linux" ? `${ownFolder()}/fd/${handle.fd}` : folder;
    return await work((name) => `${prefix}/${name}`, handle);
  } finally {
    await handle.close();
  }
}

let own: string | undefined;

/** The folder of this process in /proc. `/proc/self` is a link, and following it takes a tenth of a look-up. */
function ownFolder(): string {
  return (own ??= realpathSync.native("/proc/self"));
}

/** Creates a folder and its missing parents, each inside its verified parent. */
async function makeFolders(disk: FileSystem, folder: string, written: string): Promise<void> {
  if ((await disk.lstat(folder).catch(ignoreMissing)) !== undefined) return;
  const parent = posix.dirname(folder);
  await makeFolders(disk, parent, written);
  await inFolder(disk, parent, written, async (at) => {
    await mkdir(at(posix.basename(folder))).catch((error: unknown) => {
      if (codeOf(error) !== "EEXIST") throw error; // another call created it
    });
  });
}

/**
 * Refuses a file that is not the file that was judged. Only Linux can check this reliably. The file may have been
 * replaced or removed since it was opened (a write does that): it is still the file that was at this path.
 */
async function requireSame(disk: FileSystem, file: Handle, real: string, written: string): Promise<void> {
  if (process.platform !== "linux") {
    if ((await disk.realpath(real)) !== real) throw changed(written);
    return;
  }
  const opened = await disk.readlink(`${ownFolder()}/fd/${file.fd}`);
  if (opened !== real && opened !== `${real} (deleted)`) throw changed(written);
}

async function entriesOf(disk: FileSystem, folder: string): Promise<readonly FileEntry[]> {
  const names = await disk.readdir(folder);
  const prefix = folder === "/" ? folder : `${folder}/`;
  const entries: FileEntry[] = [];
  for (let start = 0; start < names.length; start += STAT_BATCH) {
    const batch = names.slice(start, start + STAT_BATCH).map((latin) => {
      if (ASCII.test(latin)) return { name: latin, path: prefix + latin };
      const bytes = Buffer.from(latin, "latin1");
      const name = bytes.toString("utf8"); // in a name that is not UTF-8, U+FFFD replaces the invalid bytes
      return { name, path: isUtf8(bytes) ? prefix + name : Buffer.concat([Buffer.from(prefix), bytes]) };
    });
    const infos = await disk.lstatAll(batch.map(({ path }) => path));
    for (const [index, { name, path }] of batch.entries()) {
      const info = infos[index];
      if (info === undefined) continue; // it was removed meanwhile
      const entry = { name, size: info.size, modifiedMs: info.mtimeMs };
      const target = info.isSymbolicLink() ? await disk.readlink(path).catch(ignoreMissing) : undefined;
      const kind = info.isSymbolicLink() ? "link" : kindOf(info);
      entries.push(target === undefined ? { ...entry, kind } : { ...entry, kind, target });
    }
  }
  return entries.sort((one, other) => byCodeUnits(one.name, other.name));
}

const ASCII = /^[\0-\x7f]*$/;

function infoOf(path: string, stats: BigIntStats): FileInfo {
  return {
    path,
    kind: kindOf(stats),
    size: Number(stats.size),
    modifiedMs: Number(stats.mtimeMs),
    mode: Number(stats.mode) & 0o7777,
    links: Number(stats.nlink),
    version: `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
  };
}

function kindOf(stats: {
  isFile(): boolean;
  isDirectory(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
}): FileKind {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  if (stats.isFIFO()) return "fifo";
  return stats.isSocket() ? "socket" : "device";
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
