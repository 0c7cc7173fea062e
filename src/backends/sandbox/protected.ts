import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** So far below a folder protected files are looked for: the folder itself, and three levels more. */
const LEVELS = 3;

/** So many entries are looked at in all. */
const MOST_ENTRIES = 2_000;

/** Never looked into: too much, and not a person's own. */
const SKIPPED = new Set(["node_modules", ".git"]);

/** What changed within this time may change again without its time telling: clocks of file systems tick slowly. In milliseconds. */
const SETTLED_MS = 100;

export interface ProtectedFiles {
  /** Real paths of the protected files and folders that exist, and of the nested repositories (the folder that has a `.git`, or is one). */
  readonly paths: readonly string[];
  readonly repositories: readonly string[];
  /** Sensitive files, folders and links that exist: the folder above is real. */
  readonly sensitive: readonly string[];
}

interface Listing {
  readonly changedMs: number;
  readonly protectedNames: readonly string[];
  readonly sensitiveNames: readonly string[];
  readonly folders: readonly string[];
  readonly hasRepository: boolean;
  readonly entries: number;
}

/**
 * Finds the files in a folder that may not be written, however often it is asked: what has not changed since is not read again. Links are not
 * followed. Never throws.
 */
export function protectedFinder(
  isProtected: (path: string) => boolean,
  isSensitive: (path: string) => boolean = () => false,
): (folder: string) => ProtectedFiles {
  const known = new Map<string, Listing>();

  const listingOf = (folder: string): Listing | undefined => {
    const changedMs = changeOf(folder);
    if (changedMs === undefined) return undefined;
    const before = known.get(folder);
    if (before?.changedMs === changedMs && Date.now() - changedMs > SETTLED_MS) return before;
    const entries = entriesOf(folder);
    const listing: Listing = {
      changedMs,
      entries: entries.length,
      protectedNames: entries
        .filter(
          (entry) =>
            entry.name !== ".git" && (entry.isFile() || entry.isDirectory()) && isProtected(join(folder, entry.name)),
        )
        .map(({ name }) => name),
      // In a sensitive folder every path is sensitive.
      sensitiveNames: isSensitive(folder)
        ? []
        : entries.filter(({ name }) => isSensitive(join(folder, name))).map(({ name }) => name),
      folders: entries.filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name)).map(({ name }) => name),
      hasRepository: entries.some((entry) => entry.name === ".git") || isBare(entries),
    };
    known.set(folder, Date.now() - changedMs > SETTLED_MS ? listing : { ...listing, changedMs: -1 });
    return listing;
  };

  return (root) => {
    const paths: string[] = [];
    const repositories: string[] = [];
    const sensitive: string[] = [];
    let left = MOST_ENTRIES;
    let level: readonly string[] = [root];
    for (let depth = 0; depth <= LEVELS && level.length > 0; depth++) {
      const next: string[] = [];
      for (const folder of level) {
        if (left <= 0) return { paths, repositories, sensitive };
        const listing = listingOf(folder);
        if (listing === undefined) continue;
        left -= listing.entries;
        const isClosed = new Set(listing.protectedNames);
        paths.push(...listing.protectedNames.map((name) => join(folder, name)));
        sensitive.push(...listing.sensitiveNames.map((name) => join(folder, name)));
        if (listing.hasRepository && folder !== root) repositories.push(folder);
        next.push(...listing.folders.filter((name) => !isClosed.has(name)).map((name) => join(folder, name)));
      }
      level = next;
    }
    return { paths, repositories, sensitive };
  };
}

/** The time of its last change: that of the last modification can be set back. */
function changeOf(folder: string): number | undefined {
  try {
    return statSync(folder).ctimeMs;
  } catch {
    return undefined;
  }
}

/** It needs no `.git`: git takes a folder with these names for one. */
function isBare(entries: readonly Dirent[]): boolean {
  return ["HEAD", "objects", "refs"].every((name) => entries.some((entry) => entry.name === name));
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
