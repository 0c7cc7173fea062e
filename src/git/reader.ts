import { resolve } from "node:path";
import { pathFrom } from "../util/byte-paths.ts";

/**
 * What the room for git reads a file system with. Commands may change the file system meanwhile, so nothing throws.
 * Paths are those of `pathFrom`: every file name can be written in them.
 */
export interface Reader {
  /** The kind of file at a path; links are not followed. `undefined`: nothing, or a folder above is closed. */
  kindOf(path: string): "file" | "folder" | "other" | undefined;
  /** The names in a folder; none if it cannot be read. */
  namesIn(folder: string): readonly string[];
  /** The content of a regular file, links followed. `undefined`: no such file, or more than `most` bytes. */
  read(path: string, most: number): Buffer | undefined;
  /** The path with its links followed, as far as it exists. */
  realOf(path: string): string;
}

/**
 * The real path that the first group of `pattern` finds in a small file, relative to `base`. `undefined` if there is no
 * such file or it has other content.
 */
export function leadsTo(reader: Reader, file: string, pattern: RegExp, base: string): string | undefined {
  const bytes = reader.read(file, 8_192);
  const named = bytes === undefined ? undefined : pattern.exec(pathFrom(bytes))?.[1];
  return named === undefined ? undefined : reader.realOf(resolve(base, named));
}
