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
} from "node:fs";
import { basename, dirname } from "node:path";
import { kindOf } from "./git-folders.ts";

/** The name of what was put aside. */
export const ASIDE = /\.held-back(-\d+)?$/;

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** open(2), on Linux: for its place alone, whatever its mode. */
const O_PATH = 0o10_000_000;

/**
 * Gives a file or folder another name ("hooks.held-back"); a link or a pipe is removed. Works in the folder as it is opened, so that a link in
 * its place, or above it, leads nowhere. True: something was there. Never throws.
 */
export function putAside(path: string): boolean {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  const folder = openFolder(dirname(path));
  if (folder === undefined) return false;
  const opened = `/proc/self/fd/${folder}`; // proc(5)
  const at = `${opened}/${basename(path)}`;
  try {
    if (readlinkSync(opened) !== dirname(path)) return false;
    chmodSync(opened, statSync(opened).mode | 0o300);
    if (kind === "other") unlinkSync(at);
    else renameSync(at, unusedName(`${at}.held-back`));
  } catch {
    // reported all the same
  } finally {
    closeSync(folder);
  }
  return true;
}

function openFolder(path: string): number | undefined {
  try {
    return openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  } catch {
    return undefined;
  }
}

function unusedName(path: string): string {
  if (!existsSync(path)) return path;
  let number = 2;
  while (existsSync(`${path}-${number}`)) number++;
  return `${path}-${number}`;
}
