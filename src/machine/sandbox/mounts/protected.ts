import { type Dirent, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRepository } from "../../git/layout.ts";
import { bytesOf, pathFrom } from "../../../core/util/byte-paths.ts";
import { tried } from "../../../core/util/errors.ts";
import { later } from "../../../core/util/promises.ts";
import type { FolderChanges } from "./folder-changes.ts";

/** How many folders of one root are searched. Folders beyond that are read-only (`Unread`). */
const MOST_FOLDERS = 100_000;

/** How many files get their own mount. For each further file, the folder of the root that contains it is read-only. */
const MOST_FILES = 400;

/** Folders of installed packages. They are searched for repositories alone, and by themselves: they have many folders. */
const PACKAGES = "node_modules";

/** After a change this recent, another one may get the same time: clocks of file systems tick slowly. Milliseconds. */
const SETTLED_MS = 100;

/** Roots with at least this many folders are watched: checking each folder would take longer than a command. */
export const WORTH_WATCHING = 500;

/** How many folders begin to be watched in one search: watching one takes as long as reading it. */
const MOST_NEW_WATCHES = 2_000;

/** How many mounts keep a command out of what has not been read. Each costs it some 0.4 ms. */
const MOST_UNREAD = 100;

/**
 * How long the first search of a root may block at once, and each later piece of it, with the pause between.
 * Milliseconds.
 */
const FIRST_SLICE_MS = 25;
const SLICE_MS = 5;
const PAUSE_MS = 1;

/** How many folders are read below one before others have their turn. Small trees are complete early then. */
const TURN = 256;

export interface ProtectedFiles {
  /**
   * Real paths of protected files and folders. `repositories`: nested repositories (with `.git`, or bare), also those in
   * installed packages that have been read.
   */
  readonly paths: readonly string[];
  readonly repositories: readonly string[];
  /** All protected files and folders, and the links with such names. `paths` may have a folder for several of them. */
  readonly all: readonly string[];
  /** Sensitive files, folders and links that exist; their parent folders are real paths. */
  readonly sensitive: readonly string[];
  /**
   * The repositories that were there when their folder was read for the first time: no command could write in it until
   * then. Default: not known.
   */
  readonly old?: readonly string[];
  /** What has not been read. Default: nothing. */
  readonly unread?: Unread;
}

/** The part of a root whose protected files are not all known: a few folders that contain it. */
export interface Unread {
  /** These are read-only with everything in them, except for `read`. */
  readonly folders: readonly string[];
  /** Folders directly in these that have been read with everything in them. */
  readonly read: readonly string[];
  /** True: they are being read. False: the root has too many folders. */
  readonly isGoingOn: boolean;
}

/** How the first search of a root is spread over time. */
export interface SearchPace {
  /** How long the first command waits for it, in milliseconds. Default: 1,000. */
  readonly patienceMs?: number;
  /** Calls a function that reads a few folders when the process has time. Default: after a pause of a millisecond. */
  readonly later?: (slice: () => void) => void;
}

/** Default of `SearchPace.patienceMs`. */
export const PATIENCE_MS = 1_000;

interface Listing {
  readonly changedMs: number;
  readonly ino: number;
  readonly protectedPaths: readonly string[];
  /** Links with the name of a protected file. No mount can protect a link. */
  readonly links: readonly string[];
  readonly sensitivePaths: readonly string[];
  readonly folders: readonly string[];
  readonly packages: readonly string[];
  readonly hasRepository: boolean;
}

interface FinderOptions extends SearchPace {
  /** Default: none. */
  readonly isSensitive?: (path: string) => boolean;
  /** After `settle`, saves checking each folder of a large tree. */
  readonly changes?: FolderChanges;
}

/** The first search of a root. */
interface Reading {
  /** Folders that were found and not read, in the order in which they were found. */
  readonly pending: Set<string>;
  readonly inOrder: Iterator<string, undefined>;
  /** The pending folders below one that was read last: read first, from the end, for a turn. */
  readonly next: string[];
  turn: number;
  count: number;
  isOver: boolean;
  readonly whole: ReturnType<typeof later<void>>;
}

/** Finds the protected and sensitive files and the nested repositories in folders. Follows no links. Never throws. */
export interface ProtectedFinder {
  /**
   * Reads what has changed since the last call. The first search of a folder ends when `patienceMs` is over, and goes
   * on in the background: see `unread`. What appears later in a folder that was read is read at once.
   */
  find(folder: string): ProtectedFiles;
  /**
   * Searches a folder in the background, then the packages in it. Resolves when it has been read, or has too many
   * folders. Never rejects.
   */
  readWhole(folder: string): Promise<void>;
  /** Reads the packages that are installed in a folder, in the background. Never rejects. */
  readPackages(folder: string): Promise<void>;
  /** Ends what goes on in the background. */
  close(): void;
}

/** Creates a finder. `isProtected` and `isSensitive` get absolute paths. */
export function protectedFinder(isProtected: (path: string) => boolean, options: FinderOptions = {}): ProtectedFinder {
  const own = treeFinder(isProtected, options);
  const { isSensitive: _, ...pace } = options;
  const installed = treeFinder(() => false, { ...pace, patienceMs: 0, isOfPackages: true });
  const readPackages = async (folder: string) => {
    await Promise.all(own.find(folder).packages.map(installed.readWhole));
  };
  return {
    find(folder) {
      const { packages, ...found } = own.find(folder);
      const inside = packages.flatMap((path) => installed.find(path).repositories);
      return { ...found, repositories: [...found.repositories, ...inside] };
    },
    async readWhole(folder) {
      await own.readWhole(folder);
      await readPackages(folder);
    },
    readPackages,
    close() {
      own.close();
      installed.close();
    },
  };
}

interface TreeFinderOptions extends FinderOptions {
  /** Whether the folders searched hold installed packages: then each may be a repository, and nothing is skipped. */
  readonly isOfPackages?: boolean;
}

/** Finds what `ProtectedFinder` does, except in `packages`. */
interface TreeFinder extends Omit<ProtectedFinder, "find" | "readPackages"> {
  find(folder: string): ProtectedFiles & { readonly packages: readonly string[] };
}

function treeFinder(isProtected: (path: string) => boolean, options: TreeFinderOptions): TreeFinder {
  const { isSensitive = () => false, changes, isOfPackages = false } = options;
  const { patienceMs = PATIENCE_MS, later: schedule = inAMoment } = options;
  const known = new Map<string, Listing>();
  const roots = new Map<string, { readonly id: string; readonly folders: number; readonly quiet?: Quiet }>();
  const readings = new Map<string, Reading>();
  const old: string[] = [];
  let closed = false;

  const isPending = (folder: string) => {
    for (const { pending } of readings.values()) if (pending.has(folder)) return true;
    return false;
  };

  /** `watches`: whether to watch the folder. Default: as it is. */
  const listingOf = (folder: string, watches = changes?.isWatched(folder) === true): Listing | undefined => {
    const before = known.get(folder);
    if (before !== undefined && changes?.isUnchanged(folder) === true) return before;
    if (watches) changes?.watch(folder);
    const info = tried(() => statSync(bytesOf(folder)));
    if (info === undefined) return undefined;
    // The ctime, because the time of the last modification (mtime) can be set back. Not alone: a folder that was moved
    // here with the one around it keeps its ctime, which may be that of the folder that was here.
    const { ctimeMs: changedMs, ino } = info;
    if (before?.changedMs === changedMs && before.ino === ino && Date.now() - changedMs > SETTLED_MS) return before;
    const entries = entriesIn(folder);
    const inside = folder === "/" ? "/" : `${folder}/`;
    const names = new Set(entries.map(({ name }) => name));
    const protectedPaths = entries
      .filter((entry) => entry.name !== ".git" && (entry.isFile() || entry.isDirectory()))
      .map(({ name }) => inside + name)
      .filter(isProtected);
    const listing: Listing = {
      ...{ changedMs, ino },
      protectedPaths,
      links: entries
        .filter((entry) => entry.isSymbolicLink())
        .map(({ name }) => inside + name)
        .filter(isProtected),
      // A sensitive folder is listed itself, not its content.
      sensitivePaths: isSensitive(folder) ? [] : entries.map(({ name }) => inside + name).filter(isSensitive),
      folders: entries
        // `.git` has its own rules.
        .filter((entry) => entry.isDirectory() && entry.name !== ".git" && (isOfPackages || entry.name !== PACKAGES))
        .map(({ name }) => inside + name)
        .filter((path) => !protectedPaths.includes(path)),
      packages: isOfPackages
        ? []
        : entries.filter((entry) => entry.isDirectory() && entry.name === PACKAGES).map(({ name }) => inside + name),
      hasRepository: names.has(".git") || isRepository((name) => names.has(name)),
    };
    known.set(folder, Date.now() - changedMs > SETTLED_MS ? listing : { ...listing, changedMs: -1 });
    return listing;
  };

  /** All folders of a root that are known, and those that were not read, with their content. */
  const walk = (root: string, visit: (listing: Listing, folder: string) => void = () => undefined) => {
    const folders = [root];
    const unread: string[] = [];
    let watches = (roots.get(root)?.folders ?? 0) >= WORTH_WATCHING ? MOST_NEW_WATCHES : 0;
    let isQuiet = changes !== undefined;
    // Breadth first: folders near the root are always searched.
    for (let next = 0; next < folders.length; next++) {
      const folder = folders[next] ?? root;
      if (next >= MOST_FOLDERS || (!known.has(folder) && isPending(folder))) {
        unread.push(folder);
        continue;
      }
      isQuiet &&= changes?.isUnchanged(folder) === true && known.has(folder);
      const isNew = watches > 0 && changes?.isWatched(folder) === false;
      if (isNew) watches--;
      const listing = isNew ? listingOf(folder, true) : listingOf(folder);
      if (listing === undefined) continue;
      visit(listing, folder);
      for (const path of listing.folders) folders.push(path);
    }
    return { folders: folders.length, unread, isQuiet: isQuiet && unread.length === 0 };
  };

  /** Reads pending folders of a root until the time, of `performance.now`. */
  const readUntil = (until: number, reading: Reading) => {
    const { pending, inOrder, next } = reading;
    while (pending.size > 0 && reading.count < MOST_FOLDERS && performance.now() < until) {
      if (reading.turn-- === 0) {
        reading.turn = TURN;
        next.length = 0;
      }
      const folder = next.pop() ?? inOrder.next().value;
      if (folder === undefined) break;
      if (!pending.has(folder)) continue;
      const listing = listingOf(folder);
      reading.count++;
      if (listing?.hasRepository === true) old.push(folder);
      for (const each of readings.values()) each.pending.delete(folder);
      for (const path of listing?.folders ?? []) {
        if (known.has(path) || isPending(path)) continue;
        pending.add(path);
        next.push(path);
      }
    }
    reading.isOver = pending.size === 0 || reading.count >= MOST_FOLDERS;
    if (reading.isOver) reading.whole.resolve();
  };
  const goOn = (reading: Reading) => {
    schedule(() => {
      if (closed || reading.isOver) return;
      readUntil(performance.now() + SLICE_MS, reading);
      if (!reading.isOver) goOn(reading);
    });
  };
  const begun = (root: string, firstMs: number): Reading => {
    const there = readings.get(root);
    if (there !== undefined) return there;
    const pending = new Set(known.has(root) ? walk(root).unread : [root]);
    const reading: Reading = {
      ...{ pending, inOrder: pending.values(), next: [], turn: TURN, count: 0, isOver: false },
      whole: later(),
    };
    readings.set(root, reading);
    readUntil(performance.now() + firstMs, reading);
    if (!reading.isOver) goOn(reading);
    return reading;
  };

  return {
    find(root) {
      begun(root, patienceMs);
      const [last, id] = [roots.get(root), identityOf(root)];
      if (last !== undefined && last.id !== id) changes?.forget();
      if (last?.quiet !== undefined && last.quiet.version === changes?.version()) return last.quiet.found;
      const paths: string[] = [];
      const links: string[] = [];
      const repositories: string[] = [];
      const sensitive: string[] = [];
      const packages: string[] = [];
      const version = changes?.version() ?? 0;
      const { folders, unread, isQuiet } = walk(root, (listing, folder) => {
        paths.push(...listing.protectedPaths);
        links.push(...listing.links);
        sensitive.push(...listing.sensitivePaths);
        packages.push(...listing.packages);
        if (listing.hasRepository && (isOfPackages || folder !== root)) repositories.push(folder);
      });
      const found: ReturnType<TreeFinder["find"]> = {
        ...{ paths: fewer(root, paths), all: [...paths, ...links], repositories, sensitive, old, packages },
        ...(unread.length > 0 && {
          unread: {
            ...coverOf(root, new Set(unread), (folder) => known.get(folder)?.folders ?? []),
            isGoingOn: [...readings.values()].some(({ isOver }) => !isOver),
          },
        }),
      };
      roots.set(root, { id, folders, ...(isQuiet && { quiet: { version, found } }) });
      return found;
    },
    readWhole: (root) => begun(root, Math.min(FIRST_SLICE_MS, patienceMs)).whole.promise,
    close() {
      closed = true;
    },
  };
}

/** What was found when no folder had changed, for as long as none has. */
interface Quiet {
  /** Of `FolderChanges.version`. */
  readonly version: number;
  readonly found: ReturnType<TreeFinder["find"]>;
}

function inAMoment(slice: () => void): void {
  setTimeout(slice, PAUSE_MS).unref();
}

/**
 * Chooses few folders that contain all unread ones, as deep as possible. Where a folder has too many of them directly
 * in it, it is chosen itself, and some of its folders that were read are named in `read`.
 */
function coverOf(
  root: string,
  unread: ReadonlySet<string>,
  foldersIn: (folder: string) => readonly string[],
): Pick<Unread, "folders" | "read"> {
  /** By folder: the folders directly in it that are unread, or contain one. */
  const incomplete = new Map<string, Set<string>>();
  for (const folder of unread) {
    for (let at = folder; at !== root;) {
      const above = dirname(at);
      const siblings = incomplete.get(above) ?? new Set();
      if (siblings.has(at)) break;
      incomplete.set(above, siblings.add(at));
      at = above;
    }
  }
  const folders: string[] = [];
  const read: string[] = [];
  const open = [root];
  let count = 1; // with the folders above the chosen ones, which are mounts too
  for (let next = 0; next < open.length; next++) {
    const folder = open[next] ?? root;
    const inside = unread.has(folder) ? undefined : incomplete.get(folder);
    if (inside !== undefined && count + inside.size <= MOST_UNREAD) {
      count += inside.size;
      open.push(...inside);
      continue;
    }
    folders.push(folder);
    if (inside === undefined) continue;
    const whole = foldersIn(folder).filter((path) => !inside.has(path));
    read.push(...whole.slice(0, MOST_UNREAD - read.length));
  }
  return { folders, read };
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
    isSymbolicLink: () => entry.isSymbolicLink(),
  }));
}

type Entry = Pick<Dirent, "name" | "isFile" | "isDirectory" | "isSymbolicLink">;

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
