import { join, resolve } from "node:path";
import { isInside } from "../../core/util/paths.ts";
import { commonOf, leadingIn, modulesIn, operationsIn, workTreeOf, worktreesIn } from "./folders.ts";
import { indexesIn } from "./index-file.ts";
import { ASIDE } from "./layout.ts";
import { obeyed } from "./obeyed.ts";
import { startedBy } from "./operations.ts";
import { LARGEST_INDEX, type Reader } from "./reader.ts";
import { harmlessConfig } from "./settings.ts";

/** How many new repositories are made harmless. Further repositories are put aside as a whole. */
const MOST_REPOSITORIES = 10_000;

/** A configuration of a new repository that is longer than this is put aside as a whole. Bytes. */
const LONGEST_NEW_CONFIG = 65_536;

/** What contained commands may do with a repository. Real paths. */
export interface Held {
  readonly readOnly: readonly string[];
  /** The repository's `.git` folders. New paths in them that git does not write in daily work are put aside. */
  readonly watched: readonly string[];
  /** What git would obey if it existed: included files, folders of hooks, programs. */
  readonly absent: readonly string[];
}

export interface HoldOptions {
  readonly worktree: string;
  /** Which folders of linked worktrees and submodules in the repository are protected too. Default: all. */
  readonly isHeld?: (path: string) => boolean;
  /** The person's home, whose configuration of git counts too. */
  readonly home?: string;
}

/** Returns what to protect of a `.git` folder, and of what its configuration leads to. Pure. */
export function heldOf(reader: Reader, gitFolder: string, { worktree, isHeld = () => true, home }: HoldOptions): Held {
  const [worktrees, modules] = [worktreesIn(reader, gitFolder), modulesIn(reader, gitFolder)];
  const watched = [gitFolder, ...[...worktrees.found, ...modules.found].filter(isHeld)];
  const led = watched.map((each) => {
    const tree = each === gitFolder ? worktree : (workTreeOf(reader, each) ?? worktree);
    return { tree, ...obeyed(reader, { gitFolder: each, worktree: tree, ...(home !== undefined && { home }) }) };
  });
  const is = (kind: ReturnType<Reader["kindOf"]>) => (path: string) => reader.kindOf(path) === kind;
  const files = led.flatMap(({ configs, named }) => [...configs, ...named].map(reader.realOf).filter(is("file")));
  const hooks = led.flatMap(({ hooks: folders, tree }) =>
    folders.map(reader.realOf).filter((path) => is("folder")(path) && !isInside(tree, path)),
  );
  const coming = led.flatMap((each) => [...each.configs, ...each.hooks, ...each.programs].map(reader.realOf));
  const leading = watched.flatMap((each) => leadingIn(reader, each));
  const unknown = [...worktrees.unknown, ...modules.unknown].filter(isHeld);
  const isThere = (path: string) => ["file", "folder"].includes(reader.kindOf(path) ?? "");
  return {
    readOnly: [...new Set([...leading, ...files, ...hooks, ...unknown])].filter(isThere),
    watched,
    absent: [...new Set(coming)].filter(is(undefined)),
  };
}

/** The repositories before a command. Kept on disk, so that the next session holds back what a killed session left. */
export interface Before {
  /** The folders that are searched for repositories, and those that the command can write. */
  readonly roots: readonly string[];
  readonly writable: readonly string[];
  /**
   * Folders that were read-only because they had not been searched. Those of `writable` in them were writable. Not in
   * records of older versions.
   */
  readonly unsearched?: readonly string[];
  /** Paths that the command was granted to write, with everything in them. */
  readonly lifted: readonly string[];
  /** Work trees and `.git` folders from before any command. */
  readonly old: readonly string[];
  readonly watched: readonly string[];
  /** Paths in the watched folders that lead git to programs or other folders. */
  readonly leading: readonly string[];
  /** Paths that git obeys as soon as they exist. Not in records of older versions. */
  readonly absent?: readonly string[];
  /** Unfinished operations, each with what it starts (`startedBy`). */
  readonly operations: readonly (readonly [path: string, started: readonly string[]])[];
  /** Replacements of objects: lines of packed refs. */
  readonly replacements: readonly string[];
  /** Indexes that are too large to be read. */
  readonly unread: readonly string[];
  /** The start-up files that were there. Not in records of older versions. */
  readonly startUp?: readonly string[];
}

/** Whether a command could change a path: it lies in what was writable, and its folder had been searched. */
export function couldWrite(path: string, before: Before): boolean {
  return before.writable.some((root) => isInside(path, root)) && !wasUnsearched(path, before);
}

/** Whether a person granted the path, or a folder above it, to the command. */
export function isLifted(path: string, before: Before): boolean {
  return before.lifted.some((granted) => isInside(path, granted));
}

/** Returns this part of `Before` for the `.git` folders, as they are now. Pure. */
export function stateOf(
  reader: Reader,
  gitFolders: readonly string[],
): Pick<Before, "operations" | "replacements" | "unread"> {
  const paths = gitFolders.flatMap((folder) => operationsIn(reader, folder));
  const refs = (folder: string) => reader.read(join(folder, "packed-refs"), LARGEST_INDEX) ?? Buffer.alloc(0);
  return {
    operations: paths.map((path) => [path, startedBy(reader, path)] as const),
    replacements: gitFolders.flatMap((folder) => replacementsIn(refs(folder)).map(([line]) => line)),
    unread: gitFolders.flatMap((folder) => indexesIn(reader, folder)).filter((path) => isTooLarge(reader, path)),
  };
}

const isTooLarge = (reader: Reader, path: string) => (reader.sizeOf(path) ?? 0) > LARGEST_INDEX;

/** A path to put aside, or a file to give other content. */
export interface Holding {
  readonly path: string;
  /** Default: the path is put aside. */
  readonly content?: Buffer;
}

/**
 * Finds what a command left in repositories that leads git to programs, other folders or other objects. In new
 * repositories, lines of the configuration become comments and hooks are put aside. In all repositories, an unfinished
 * operation that would start something new is put aside. Pure: change each one before you request the next.
 *
 * @param gitFolders the `.git` folders that exist now
 */
export function* holdings(reader: Reader, before: Before, gitFolders: readonly string[]): Generator<Holding> {
  const [leading, old] = [new Set(before.leading), new Set(before.old)];
  const [operations, replacements] = [new Map(before.operations), new Set(before.replacements)];
  for (const path of before.watched.flatMap((folder) => leadingIn(reader, folder)))
    if (!leading.has(path) && !isLifted(path, before)) yield { path };
  for (const path of before.absent ?? [])
    if (couldWrite(path, before) && !isLifted(path, before) && reader.kindOf(path) !== undefined) yield { path };
  let made = 0;
  const all = new Set(gitFolders);
  for (const folder of all) {
    if (wasUnsearched(folder, before)) continue;
    const isMade = couldWrite(folder, before) && !old.has(folder) && !isLifted(join(folder, "config"), before);
    if (isMade && ++made > MOST_REPOSITORIES) {
      yield { path: folder };
      continue;
    }
    for (const path of operationsIn(reader, folder)) {
      const known = operations.get(path) ?? [];
      if (startedBy(reader, path).some((each) => !known.includes(each))) yield { path };
    }
    for (const path of indexesIn(reader, folder))
      if (isTooLarge(reader, path) && !before.unread.includes(path)) yield { path };
    yield* newReplacements(reader, join(folder, "packed-refs"), replacements);
    if (!isMade) continue;
    const common = commonOf(reader, folder);
    if (common !== undefined) all.add(common);
    for (const name of ["config", "config.worktree"]) yield* leadingSettings(reader, join(folder, name));
    yield* newHooks(reader, join(folder, "hooks"));
    for (const path of modulesIn(reader, folder).unknown) yield { path };
  }
}

/**
 * Whether a path was read-only for a command because its folder had not been searched: the command made nothing there.
 */
function wasUnsearched(path: string, { unsearched = [], writable }: Before): boolean {
  if (unsearched.length === 0) return false;
  const nearest = (folders: readonly string[]) =>
    Math.max(-1, ...folders.filter((folder) => isInside(path, folder)).map(({ length }) => length));
  const closed = nearest(unsearched);
  return closed >= 0 && closed >= nearest(writable);
}

/** Hooks are never folders. */
function* newHooks(reader: Reader, hooks: string): Generator<Holding> {
  const kind = reader.kindOf(hooks);
  if (kind !== "folder") {
    if (kind !== undefined) yield { path: hooks };
    return;
  }
  const names = reader.namesIn(hooks).filter((name) => !name.endsWith(".sample") && !ASIDE.test(name));
  for (const path of names.map((name) => join(hooks, name))) if (reader.kindOf(path) !== "folder") yield { path };
}

function* leadingSettings(reader: Reader, path: string): Generator<Holding> {
  const kind = reader.kindOf(path);
  if (kind === undefined) return;
  const text = kind === "file" ? reader.read(path, LONGEST_NEW_CONFIG)?.toString("latin1") : undefined; // byte for byte
  if (text === undefined) return yield { path };
  // A submodule's repository lies inside the repository of its parent work tree.
  const [tree, module] = path.split("/.git/modules/");
  const harmless = harmlessConfig(text, (worktree) => {
    return module !== undefined && tree !== undefined && isInside(resolve(path, "..", worktree), tree);
  });
  if (harmless !== text) yield { path, content: Buffer.from(harmless, "latin1") };
}

/** Packed refs without the new replacements of objects. */
function* newReplacements(reader: Reader, path: string, known: ReadonlySet<string>): Generator<Holding> {
  if (reader.kindOf(path) === undefined) return;
  const refs = reader.read(path, LARGEST_INDEX);
  if (refs === undefined) return yield { path };
  const lines = replacementsIn(refs).filter(([line]) => !known.has(line));
  if (lines.length === 0) return;
  const cuts = [...lines.flatMap(([, start, end]) => [start, end]), refs.length];
  const kept = [0, ...cuts].flatMap((at, index, every) =>
    index % 2 === 0 ? [refs.subarray(at, every[index + 1])] : [],
  );
  yield { path, content: Buffer.concat(kept) };
}

/** The lines that replace an object with another (git-replace(1)), as latin1, with where each begins and ends. */
function replacementsIn(refs: Buffer): readonly (readonly [line: string, start: number, end: number])[] {
  const found: (readonly [string, number, number])[] = [];
  for (let at = refs.indexOf(" refs/replace/"); at >= 0;) {
    const start = refs.lastIndexOf("\n", at) + 1;
    const next = refs.indexOf("\n", at);
    const end = next < 0 ? refs.length : next + 1;
    found.push([refs.toString("latin1", start, end).trimEnd(), start, end]);
    at = refs.indexOf(" refs/replace/", end);
  }
  return found;
}
