import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomName } from "../../core/util/identifier.ts";
import type { Item, Log } from "./log.ts";

/** What was at a path when it was last looked at, and what shows that it has not changed since (stat(2)). */
export interface Known {
  readonly item: Item;
  readonly ino: number;
  /** In bytes. */
  readonly size: number;
  /** In milliseconds since 1970, with fractions. */
  readonly mtime: number;
  /** As `mtime`. 0: look at it again. */
  readonly ctime: number;
}

/** What is at each path below the workspace. Paths have one character per byte. */
export type Manifest = ReadonlyMap<string, Known>;

/** After so many files with differences, everything is written again. */
const MAX_FILES = 30;

type Line = readonly [path: string, item: Item | null, ino?: number, size?: number, mtime?: number, ctime?: number];

/** The manifest that this process has last read or written, of each store. */
const read = new Map<string, { readonly names: string; readonly manifest: Manifest }>();

/** Returns what this process has last read or written. */
export function lastManifest(store: string): Manifest | undefined {
  return read.get(store)?.manifest;
}

/** Reads what was at each path when the workspace was last looked at; `undefined`: it never was. */
export function readManifest(store: string, { manifest: names }: Pick<Log, "manifest">): Manifest | undefined {
  if (names.length === 0) return undefined;
  const before = read.get(store);
  if (before?.names === names.join()) return before.manifest;
  const manifest = new Map<string, Known>();
  for (const name of names) {
    for (const line of JSON.parse(readFileSync(join(store, name), "utf8")) as readonly Line[]) {
      const [path, item, ino = 0, size = 0, mtime = 0, ctime = 0] = line;
      if (item === null) manifest.delete(path);
      else manifest.set(path, { item, ino, size, mtime, ctime });
    }
  }
  read.set(store, { names: names.join(), manifest });
  return manifest;
}

/**
 * Writes what is at each path now. Returns the names of the files that have it together.
 *
 * @param before the names of the files that had it until now
 * @param changed the paths that differ from that
 */
export async function writeManifest(
  store: string,
  before: readonly string[],
  manifest: Manifest,
  changed: ReadonlySet<string>,
): Promise<readonly string[]> {
  if (before.length > 0 && changed.size === 0) {
    read.set(store, { names: before.join(), manifest });
    return before;
  }
  const isWhole = before.length === 0 || before.length > MAX_FILES || changed.size * 2 > manifest.size;
  const lines: Line[] = [];
  for (const path of isWhole ? manifest.keys() : changed) {
    const known = manifest.get(path);
    lines.push(
      known === undefined ? [path, null] : [path, known.item, known.ino, known.size, known.mtime, known.ctime],
    );
  }
  const name = `manifest-${randomName(8)}`;
  await writeFile(join(store, name), JSON.stringify(lines), { mode: 0o600 });
  const names = isWhole ? [name] : [...before, name];
  read.set(store, { names: names.join(), manifest });
  return names;
}
