import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { FolderChanges } from "./folder-changes.ts";
import { isRepository } from "./new-repositories.ts";

/** So many folders are looked at in one. What lies beyond is read-only as a whole. */
const MOST_FOLDERS = 100_000;

/** So many files are held one by one: each is a mount. Where there are more, the folder of the root that they lie in is read-only as a whole. */
const MOST_FILES = 400;

/** Never looked into: git's own folder is held by other rules, and nobody works in installed packages (editors do not look there for repositories). */
const SKIPPED = new Set(["node_modules", ".git"]);

/** What changed within this time may change again without its time telling: clocks of file systems tick slowly. In milliseconds. */
const SETTLED_MS = 100;

/** From so many folders on they are watched: to ask each whether it has changed takes longer than a command. */
export const WORTH_WATCHING = 500;

export interface ProtectedFiles {
  /** Real paths of the protected files and folders that exist, and of the nested repositories (the folder that has a `.git`, or is one). */
  readonly paths: readonly string[];
  readonly repositories: readonly string[];
  /** Sensitive files, folders and links that exist: the folder above is real. */
  readonly sensitive: readonly string[];
}

interface Listing {
  readonly changedMs: number;
  readonly protectedPaths: readonly string[];
  readonly sensitivePaths: readonly string[];
  readonly folders: readonly string[];
  readonly hasRepository: boolean;
}

/**
 * Finds the files in a folder that may not be written, however often it is asked: what has not changed since is not read again. Links are not
 * followed. `changes`, which has settled, spares asking each folder of a large tree. Never throws.
 */
export function protectedFinder(
  isProtected: (path: string) => boolean,
  isSensitive: (path: string) => boolean = () => false,
  changes?: FolderChanges,
): (folder: string) => ProtectedFiles {
  const known = new Map<string, Listing>();
  const roots = new Map<string, { readonly id: string; readonly folders: number }>();

  const listingOf = (folder: string, isLarge: boolean): Listing | undefined => {
    const before = known.get(folder);
    if (before !== undefined && changes?.isUnchanged(folder) === true) return before;
    if (isLarge) changes?.watch(folder);
    const changedMs = changeOf(folder);
    if (changedMs === undefined) return undefined;
    if (before?.changedMs === changedMs && Date.now() - changedMs > SETTLED_MS) return before;
    const entries = entriesOf(folder);
    const names = new Set(entries.map(({ name }) => name));
    const protectedPaths = entries
      .filter((entry) => entry.name !== ".git" && (entry.isFile() || entry.isDirectory()))
      .map(({ name }) => join(folder, name))
      .filter(isProtected);
    const listing: Listing = {
      changedMs,
      protectedPaths,
      // In a sensitive folder every path is sensitive.
      sensitivePaths: isSensitive(folder) ? [] : entries.map(({ name }) => join(folder, name)).filter(isSensitive),
      folders: entries
        .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name))
        .map(({ name }) => join(folder, name))
        .filter((path) => !protectedPaths.includes(path)),
      hasRepository: names.has(".git") || isRepository((name) => names.has(name)),
    };
    known.set(folder, Date.now() - changedMs > SETTLED_MS ? listing : { ...listing, changedMs: -1 });
    return listing;
  };

  return (root) => {
    const paths: string[] = [];
    const repositories: string[] = [];
    const sensitive: string[] = [];
    const folders = [root];
    const [last, id] = [roots.get(root), identityOf(root)];
    if (last !== undefined && last.id !== id) changes?.forget();
    const isLarge = (last?.folders ?? 0) >= WORTH_WATCHING;
    // Breadth first: what lies near the root is looked at in any case.
    for (let next = 0; next < folders.length; next++) {
      const folder = folders[next] ?? root;
      if (next >= MOST_FOLDERS) {
        paths.push(folder);
        continue;
      }
      const listing = listingOf(folder, isLarge);
      if (listing === undefined) continue;
      paths.push(...listing.protectedPaths);
      sensitive.push(...listing.sensitivePaths);
      if (listing.hasRepository && folder !== root) repositories.push(folder);
      for (const path of listing.folders) folders.push(path);
    }
    roots.set(root, { id, folders: folders.length });
    return { paths: fewer(root, paths), repositories, sensitive };
  };
}

/** The same, where there are too many with whole folders of the root in place of what lies in them. */
function fewer(root: string, paths: readonly string[]): readonly string[] {
  const [first, rest] = [paths.slice(0, MOST_FILES), paths.slice(MOST_FILES)];
  const whole = rest.map((path) => join(root, path.slice(root.length).split("/").find(Boolean) ?? ""));
  return [...new Set([...first, ...whole])];
}

/** Differs where the same path is another folder. */
function identityOf(folder: string): string {
  try {
    const { dev, ino } = statSync(folder, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return "";
  }
}

/** The time of its last change: that of the last modification can be set back. */
function changeOf(folder: string): number | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })?.ctimeMs;
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
