import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { kindOf } from "../../git/disk.ts";
import { bytesOf, pathFrom } from "../../../core/util/byte-paths.ts";
import { tried } from "../../../core/util/errors.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** A flag of open(2) on Linux: opens only the location, whatever the file's mode. */
const O_PATH = 0o10_000_000;

/** Renames a file or folder ("hooks.held-back"), or removes a link. True if something was there. Never throws. */
export function putAside(path: string): boolean {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  return inFolder(path, (at) => {
    unlock(at);
    if (kind === "other") unlinkSync(bytesOf(at));
    else renameSync(bytesOf(at), bytesOf(unusedName(`${at}.held-back`)));
  });
}

/** Replaces the content of a file as a whole, or puts it aside. True if the file was there. Never throws. */
export function replaceContent(path: string, content: Buffer): boolean {
  let isDone = false;
  const wasThere = inFolder(path, (at) => {
    unlock(at);
    const coming = `${at}.held-back.lock`;
    writeFileSync(bytesOf(coming), content, { flag: "wx", mode: statSync(bytesOf(at)).mode & 0o777 });
    renameSync(bytesOf(coming), bytesOf(at));
    isDone = true;
  });
  return isDone || (wasThere && putAside(path));
}

/** Lets this process write in the folder of a path. */
const unlock = (at: string) => chmodSync(dirname(at), statSync(dirname(at)).mode | 0o300);

/** Creates a folder, and those above it. False if it cannot be created, or a link is on its path. Never throws. */
export function makeFolder(path: string): boolean {
  if (kindOf(path) === "folder") return true;
  if (!makeFolder(dirname(path))) return false;
  inFolder(path, (at) => mkdirSync(bytesOf(at)));
  return kindOf(path) === "folder";
}

/** Creates an empty file. False if it cannot be created, or a link is on its path. Never throws. */
export function makeFile(path: string): boolean {
  let isMade = false;
  inFolder(path, (at) => {
    writeFileSync(bytesOf(at), "", { flag: "wx" });
    isMade = true;
  });
  return isMade;
}

/** Removes a file that is empty. Never throws. */
export function removeIfEmpty(path: string): void {
  inFolder(path, (at) => {
    const info = lstatSync(bytesOf(at));
    if (info.isFile() && info.size === 0) unlinkSync(bytesOf(at));
  });
}

/**
 * Works inside the opened folder of a path, so that links that replace the folder, or one above it, lead nowhere.
 * Returns false if the folder cannot be opened or has moved.
 */
function inFolder(path: string, work: (at: string) => void): boolean {
  const folder = tried(() => openSync(bytesOf(dirname(path)), O_PATH | O_DIRECTORY | O_NOFOLLOW));
  if (folder === undefined) return false;
  const opened = `/proc/self/fd/${folder}`; // proc(5)
  try {
    if (pathFrom(readlinkSync(opened, "buffer")) !== dirname(path)) return false;
    work(`${opened}/${basename(path)}`);
  } catch {
    // the path is reported anyway
  } finally {
    closeSync(folder);
  }
  return true;
}

function unusedName(path: string): string {
  if (!existsSync(bytesOf(path))) return path;
  let number = 2;
  while (existsSync(bytesOf(`${path}-${number}`))) number++;
  return `${path}-${number}`;
}
