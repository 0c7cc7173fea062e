import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, readdirSync } from "node:fs";
import { readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { bytesOf, pathFrom } from "../../core/util/byte-paths.ts";
import { tried } from "../../core/util/errors.ts";
import type { Reader } from "./reader.ts";

/** The kind of file at a path of this machine, as `Reader.kindOf`. */
export function kindOf(path: string): "file" | "folder" | "other" | undefined {
  const info = tried(() => lstatSync(bytesOf(path), { throwIfNoEntry: false }));
  if (info === undefined) return undefined;
  if (info.isDirectory()) return "folder";
  return info.isFile() ? "file" : "other";
}

/** The names in a folder of this machine, as `Reader.namesIn`. */
export function namesIn(folder: string): readonly string[] {
  const names = tried(() => readdirSync(bytesOf(folder))) ?? [];
  if (!names.some((name) => name.includes("\ufffd"))) return names;
  return tried(() => readdirSync(bytesOf(folder), "buffer").map(pathFrom)) ?? [];
}

/** The path with its links followed, as far as it exists. The missing rest is kept as written. */
export function realOf(path: string): string {
  return followed(path, 0);
}

/** Linux follows at most 40 links on a path (path_resolution(7)). */
const MOST_LINKS = 40;

function followed(path: string, links: number): string {
  const parts: string[] = [];
  for (let at = path; ;) {
    const rest = (real: string) => (parts.length === 0 ? real : `${real === "/" ? "" : real}/${parts.join("/")}`);
    // Most of the paths do not exist, and an error costs ten times as much as this look.
    const info = tried(() => lstatSync(bytesOf(at), { throwIfNoEntry: false }));
    const real = info && tried(() => pathFrom(realpathSync.native(bytesOf(at), "buffer")));
    if (real !== undefined) return rest(real);
    if (info?.isSymbolicLink() === true && links < MOST_LINKS) {
      const target = tried(() => pathFrom(readlinkSync(bytesOf(at), "buffer"))); // the link leads to nothing yet
      if (target !== undefined) return followed(rest(resolve(followed(dirname(at), links + 1), target)), links + 1);
    }
    const cut = at.lastIndexOf("/");
    if (cut < 0) return path;
    parts.unshift(at.slice(cut + 1));
    at = cut === 0 ? "/" : at.slice(0, cut);
  }
}

/** As `Reader.read`. A command may be changing the file: this never waits for a pipe. */
export function readRegular(path: string, most: number): Buffer | undefined {
  return tried(() => {
    const descriptor = openSync(bytesOf(path), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const info = fstatSync(descriptor);
      if (!info.isFile() || info.size > most) return undefined;
      const bytes = Buffer.alloc(info.size); // never more bytes, although the file may grow
      let filled = 0;
      for (let read = -1; read !== 0 && filled < bytes.length; filled += read)
        read = readSync(descriptor, bytes, filled, bytes.length - filled, filled);
      return bytes.subarray(0, filled);
    } finally {
      closeSync(descriptor);
    }
  });
}

const sizeOf = (path: string) => tried(() => statSync(bytesOf(path)).size);

/** Reads this machine. */
export const DISK: Reader = { kindOf, namesIn, read: readRegular, sizeOf, realOf };
