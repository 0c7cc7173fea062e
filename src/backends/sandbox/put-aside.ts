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
import { tried } from "../../util/errors.ts";
import { kindOf } from "./read-files.ts";

/** Names of files that were put aside. */
export const ASIDE = /\.held-back(-\d+)?$/;

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** A flag of open(2) on Linux: opens only the location, whatever the file's mode. */
const O_PATH = 0o10_000_000;

/**
 * Renames a file or folder ("hooks.held-back"); removes a link or a pipe. Works inside the opened folder, so links that
 * replace the folder, or one above it, lead nowhere. Returns true if something was there. Never throws.
 */
export function putAside(path: string): boolean {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  const folder = tried(() => openSync(dirname(path), O_PATH | O_DIRECTORY | O_NOFOLLOW));
  if (folder === undefined) return false;
  const opened = `/proc/self/fd/${folder}`; // proc(5)
  const at = `${opened}/${basename(path)}`;
  try {
    if (readlinkSync(opened) !== dirname(path)) return false;
    chmodSync(opened, statSync(opened).mode | 0o300);
    if (kind === "other") unlinkSync(at);
    else renameSync(at, unusedName(`${at}.held-back`));
  } catch {
    // the path is reported anyway
  } finally {
    closeSync(folder);
  }
  return true;
}

function unusedName(path: string): string {
  if (!existsSync(path)) return path;
  let number = 2;
  while (existsSync(`${path}-${number}`)) number++;
  return `${path}-${number}`;
}
