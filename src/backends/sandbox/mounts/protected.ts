import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { isRepository } from "../../../git/layout.ts";
import { bytesOf, pathFrom } from "../../../util/byte-paths.ts";
import { tried } from "../../../util/errors.ts";
import type { FolderChanges } from "./folder-changes.ts";

/** How many folders of one root are searched. Folders beyond that are read-only as a whole. */
const MOST_FOLDERS = 100_000;

/** How many files get their own mount. For each further file, the folder of the root that contains it is read-only. */
const MOST_FILES = 400;

/** Never searched: `.git` has its own rules, and nobody edits installed packages. */
const SKIPPED = new Set(["node_modules", ".git"]);

/** After a change this recent, another one may get the same time: clocks of file systems tick slowly. Milliseconds. */
const SETTLED_MS = 100;

/** Roots with at least this many folders are watched: checking each folder would take longer than a command. */
export const WORTH_WATCHING = 500;

export interface ProtectedFiles {
  /** Real paths of protected files and folders. `repositories`: nested repositories (with `.git`, or bare). */
  readonly paths: readonly string[];
  readonly repositories: readonly string[];
  /** Sensitive files, folders and links that exist; their parent folders are real paths. */
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
 * Returns a function that finds the protected and sensitive files and the nested repositories in a folder. It reads
 * only what has changed since the last call, and follows no links. `changes`, after `settle`, saves checking each
 * folder of a large tree. Never throws.
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
    // The ctime, because the time of the last modification (mtime) can be set back.
    const changedMs = tried(() => statSync(bytesOf(folder)).ctimeMs);
    if (changedMs === undefined) return undefined;
    if (before?.changedMs === changedMs && Date.now() - changedMs > SETTLED_MS) return before;
    const entries = entriesIn(folder);
    const names = new Set(entries.map(({ name }) => name));
    const protectedPaths = entries
      .filter((entry) => entry.name !== ".git" && (entry.isFile() || entry.isDirectory()))
      .map(({ name }) => join(folder, name))
      .filter(isProtected);
    const listing: Listing = {
      changedMs,
      protectedPaths,
      // A sensitive folder is listed itself, not its content.
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
    // Breadth first: folders near the root are always searched.
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

/** The entries of a folder; none if it cannot be read. */
function entriesIn(folder: string): readonly Entry[] {
  const entries = tried(() => readdirSync(bytesOf(folder), { withFileTypes: true })) ?? [];
  if (!entries.some(({ name }) => name.includes("\ufffd"))) return entries;
  const raw = tried(() => readdirSync(bytesOf(folder), { withFileTypes: true, encoding: "buffer" })) ?? [];
  return raw.map((entry) => ({
    name: pathFrom(entry.name),
    isFile: () => entry.isFile(),
    isDirectory: () => entry.isDirectory(),
  }));
}

type Entry = Pick<Dirent, "name" | "isFile" | "isDirectory">;

/** Limits the number of paths: the rest are replaced by the top-level folders that contain them. */
function fewer(root: string, paths: readonly string[]): readonly string[] {
  const [first, rest] = [paths.slice(0, MOST_FILES), paths.slice(MOST_FILES)];
  const whole = rest.map((path) => join(root, path.slice(root.length).split("/").find(Boolean) ?? ""));
  return [...new Set([...first, ...whole])];
}

/** A text that changes when the path becomes another folder. */
function identityOf(folder: string): string {
  const info = tried(() => statSync(folder, { bigint: true }));
  return `${info?.dev} ${info?.ino}`;
}
