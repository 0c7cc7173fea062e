import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readlinkSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { kindOf } from "../../../git/disk.ts";
import { bytesOf, pathFrom } from "../../../util/byte-paths.ts";
import { tried } from "../../../util/errors.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** A flag of open(2) on Linux: opens only the location, whatever the file's mode. */
const O_PATH = 0o10_000_000;

/** Renames a file or folder ("hooks.held-back"), or removes a link. True if something was there. Never throws. */
export function putAside(path: string): boolean {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  return inFolder(path, (at) => {
    if (kind === "other") unlinkSync(bytesOf(at));
    else renameSync(bytesOf(at), bytesOf(unusedName(`${at}.held-back`)));
  });
}

/** Replaces the content of a file as a whole, or puts it aside. True if the file was there. Never throws. */
export function replaceContent(path: string, content: Buffer): boolean {
  let isDone = false;
  const wasThere = inFolder(path, (at) => {
    const coming = `${at}.held-back.lock`;
    writeFileSync(bytesOf(coming), content, { flag: "wx", mode: statSync(bytesOf(at)).mode & 0o777 });
    renameSync(bytesOf(coming), bytesOf(at));
    isDone = true;
  });
  return isDone || (wasThere && putAside(path));
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
    chmodSync(opened, statSync(opened).mode | 0o300);
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
