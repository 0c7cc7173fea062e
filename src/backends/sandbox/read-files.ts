import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { tried } from "../../util/errors.ts";
import { realOf } from "./hidden.ts";

// Commands may change the file system during these calls, so none of them throws.

/** The kind of file at a path; links are not followed. `undefined`: nothing. */
export function kindOf(path: string): "file" | "folder" | "other" | undefined {
  const info = tried(() => lstatSync(path));
  if (info === undefined) return undefined;
  if (info.isDirectory()) return "folder";
  return info.isFile() ? "file" : "other";
}

/** Whether a path is a folder or a link to one. */
export function isFolder(path: string): boolean {
  return tried(() => statSync(path).isDirectory()) ?? false;
}

/** Names in a folder; empty if it does not exist or cannot be read. */
export function namesIn(folder: string): readonly string[] {
  return tried(() => readdirSync(folder)) ?? [];
}

/** The text of a kernel file (/proc, /sys), as latin1; "" if it cannot be read. */
export function textOf(file: string): string {
  return tried(() => readFileSync(file, "latin1")) ?? "";
}

/**
 * The real path that the first group of `pattern` finds in a small file, relative to `base`. `undefined` if there is no
 * such file or it has other content.
 */
export function leadsTo(file: string, pattern: RegExp, base: string): string | undefined {
  const named = pattern.exec(readRegular(file, 8_192)?.toString() ?? "")?.[1];
  return named === undefined ? undefined : realOf(resolve(base, named));
}

/**
 * The content of a file that a command may have created or may be changing. `undefined` if it does not exist, is no
 * regular file (this never waits for a pipe), or has more than `most` bytes.
 */
export function readRegular(path: string, most: number): Buffer | undefined {
  return tried(() => {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const info = fstatSync(descriptor);
      return info.isFile() && info.size <= most ? readFileSync(descriptor) : undefined;
    } finally {
      closeSync(descriptor);
    }
  });
}
