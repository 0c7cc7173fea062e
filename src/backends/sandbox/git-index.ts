import { lstatSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { tried } from "../../util/errors.ts";
import { namesIn, readRegular } from "./read-files.ts";

/** The mode of an index entry that is a commit of another repository (a submodule). */
const GITLINK = 0o160_000;

/** A larger index is not read. Bytes. */
const LARGEST = 128 * 1024 * 1024;

/**
 * Returns a function that lists the submodule paths in the indexes of a git folder. An unchanged index is not read
 * again.
 */
export function gitlinkFinder(): (gitFolder: string) => readonly string[] {
  const known = new Map<string, { readonly version: string; readonly paths: readonly string[] }>();
  return (gitFolder) =>
    indexesIn(gitFolder).flatMap((file) => {
      const version = versionOf(file);
      if (version === undefined) return [];
      const before = known.get(file);
      if (before?.version === version) return before.paths;
      const paths = gitlinksOf(readRegular(file, LARGEST) ?? Buffer.alloc(0), hashBytes(gitFolder));
      known.set(file, { version, paths });
      return paths;
    });
}

/** Returns those of the given files whose `stat` data match their entry in an index of the git folder. */
export function unchangedFiles(gitFolder: string, worktree: string, paths: readonly string[]): readonly string[] {
  const stats = new Map(paths.map((path) => [relative(worktree, path), statOf(path)]));
  const unchanged = new Set<string>();
  for (const file of indexesIn(gitFolder)) {
    for (const entry of entriesOf(readRegular(file, LARGEST) ?? Buffer.alloc(0), hashBytes(gitFolder))) {
      const name = entry.name.toString();
      if (stats.get(name) === entry.stat()) unchanged.add(join(worktree, name));
    }
  }
  return paths.filter((path) => unchanged.has(path));
}

/**
 * Returns the submodule paths of an index, relative to the work tree. Of a damaged index, those before the damage.
 * Pure.
 */
export function gitlinksOf(index: Buffer, hash: 20 | 32 = 20): readonly string[] {
  return Array.from(entriesOf(index, hash)).flatMap(({ mode, name }) => (mode === GITLINK ? name.toString() : []));
}

interface Entry {
  readonly mode: number;
  readonly name: Buffer;
  /** Times, inode and size of the file when git last saw it with the entry's content, in hexadecimal. */
  stat(): string;
}

/** The entries of an index (gitformat-index(5), versions 2 to 4). Of a damaged index, those before the damage. */
function* entriesOf(index: Buffer, hash: 20 | 32): Generator<Entry> {
  if (index.length < 12 || index.toString("latin1", 0, 4) !== "DIRC") return;
  const version = index.readUInt32BE(4);
  let name = Buffer.alloc(0);
  let at = 12;
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const flagsAt = at + 40 + hash;
    if (flagsAt + 2 > index.length) break;
    const isExtended = version >= 3 && (index.readUInt16BE(flagsAt) & 0x4000) !== 0;
    let nameAt = flagsAt + (isExtended ? 4 : 2);
    let kept = Buffer.alloc(0);
    if (version === 4) {
      const strip = variableNumber(index, nameAt);
      nameAt = strip.next;
      kept = name.subarray(0, Math.max(0, name.length - strip.value));
    }
    const end = index.indexOf(0, nameAt);
    if (end < 0) break;
    name = Buffer.concat([kept, index.subarray(nameAt, end)]);
    const start = at;
    yield {
      mode: index.readUInt32BE(start + 24),
      name,
      stat: () =>
        index.toString("hex", start, start + 16) +
        index.toString("hex", start + 20, start + 24) +
        index.toString("hex", start + 36, start + 40),
    };
    at = version === 4 ? end + 1 : at + Math.ceil((end - at + 1) / 8) * 8;
  }
}

/** The same data of the file as it is now; `undefined` if it is no regular file. */
function statOf(path: string): string | undefined {
  const info = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (info?.isFile() !== true) return undefined;
  const { ctimeNs, mtimeNs, ino, size } = info;
  const times = [ctimeNs, mtimeNs].flatMap((time) => [time / 1_000_000_000n, time % 1_000_000_000n]);
  return [...times, ino, size].map((each) => BigInt.asUintN(32, each).toString(16).padStart(8, "0")).join("");
}

/** Decodes a number as in the offsets of a pack: seven bits per byte; each further byte adds one first. */
function variableNumber(bytes: Buffer, start: number): { readonly value: number; readonly next: number } {
  let at = start;
  let byte = bytes[at++] ?? 0;
  let value = byte & 127;
  while ((byte & 128) !== 0) {
    byte = bytes[at++] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, next: at };
}

/** The index files of a git folder. A split index has more entries in files beside it. */
function indexesIn(gitFolder: string): readonly string[] {
  return namesIn(gitFolder)
    .filter((name) => name === "index" || name.startsWith("sharedindex."))
    .map((name) => join(gitFolder, name));
}

/** A text that differs after each change of the file; `undefined` if there is no file. */
export function versionOf(file: string): string | undefined {
  const info = tried(() => statSync(file, { bigint: true }));
  return info && `${info.ino} ${info.ctimeNs} ${info.size}`;
}

function hashBytes(gitFolder: string): 20 | 32 {
  const config = readRegular(join(gitFolder, "config"), 65_536)?.toString("latin1") ?? "";
  return /objectformat\s*=\s*"?sha256/i.test(config) ? 32 : 20;
}
