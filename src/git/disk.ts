import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  statSync,
} from "node:fs";
import { bytesOf, pathFrom } from "../util/byte-paths.ts";
import { tried } from "../util/errors.ts";
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
  const parts: string[] = [];
  for (let at = path; ;) {
    try {
      // Most paths that are asked about are missing, and an error costs ten times this look.
      const isThere = lstatSync(bytesOf(at), { throwIfNoEntry: false }) !== undefined;
      const real = isThere ? pathFrom(realpathSync.native(bytesOf(at), "buffer")) : undefined;
      if (real !== undefined) return parts.length === 0 ? real : `${real === "/" ? "" : real}/${parts.join("/")}`;
    } catch {
      // A link that leads nowhere, or a folder that may not be entered.
    }
    const cut = at.lastIndexOf("/");
    if (cut < 0) return path;
    parts.unshift(at.slice(cut + 1));
    at = cut === 0 ? "/" : at.slice(0, cut);
  }
}

/**
 * The content of a file of this machine, as `Reader.read`. A command may have created it or may be changing it: this
 * never waits for a pipe.
 */
export function readRegular(path: string, most: number): Buffer | undefined {
  return tried(() => {
    const descriptor = openSync(bytesOf(path), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      const info = fstatSync(descriptor);
      return info.isFile() && info.size <= most ? readFileSync(descriptor) : undefined;
    } finally {
      closeSync(descriptor);
    }
  });
}

const sizeOf = (path: string) => tried(() => statSync(bytesOf(path)).size);

/** Reads this machine. */
export const DISK: Reader = { kindOf, namesIn, read: readRegular, sizeOf, realOf };
