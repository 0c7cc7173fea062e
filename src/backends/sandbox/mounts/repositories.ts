import { lstatSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { DISK, kindOf, namesIn, readRegular, realOf } from "../../../git/disk.ts";
import { commonOf, gitFolderOf, leadingIn, modulesIn, operationsIn, worktreesIn } from "../../../git/folders.ts";
import { harmlessConfig } from "../../../git/settings.ts";
import { entriesOf, gitlinksOf, hashBytes, isIndexName, statText } from "../../../git/index-file.ts";
import { obeyed } from "../../../git/obeyed.ts";
import { startedBy } from "../../../git/operations.ts";
import { bytesOf } from "../../../util/byte-paths.ts";
import { tried } from "../../../util/errors.ts";
import { isInside } from "../../../util/paths.ts";
import { ASIDE, putAside, replaceContent } from "./put-aside.ts";
import { versionOf } from "../read-files.ts";

/** How many repositories are followed in all. New ones past the limit are put aside as a whole. */
const MOST_REPOSITORIES = 10_000;

/** A longer configuration of a new repository is put aside as a whole. Bytes. */
const LONGEST_CONFIG = 65_536;

/** A larger index or file of packed refs is not read: it is put aside as a whole. Bytes: 256 MiB. */
const LARGEST = 268_435_456;

/** What contained commands may do with a repository. Real paths. */
export interface HeldRepository {
  /** Folders outside the workspace: the repository of a linked worktree. */
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  /** Its `.git` folders: paths that appear there, and that git does not write in daily work, are put aside. */
  readonly watched: readonly string[];
}

export interface HoldOptions {
  /** The repository, if the folder is a linked worktree (see `linkedWorktree`). */
  readonly worktree?: string | undefined;
  /** Which folders of linked worktrees and submodules in the repository are protected too. Default: all. */
  readonly isHeld?: (path: string) => boolean;
  /** The person's home, whose configuration of git counts too. */
  readonly home?: string;
}

/** Returns what to protect of the repository in a folder. Creates its hooks folder, so that commands cannot. */
export function heldRepository(
  workDir: string,
  { worktree, isHeld = () => true, home }: HoldOptions = {},
): HeldRepository {
  const pointer = join(workDir, ".git");
  const kind = kindOf(pointer);
  if (kind === "folder") return held(pointer, workDir, isHeld, home);
  if (kind === "file" && worktree !== undefined && kindOf(worktree) === "folder") {
    const common = held(worktree, workDir, () => true, home);
    return { ...common, writable: [worktree], readOnly: [pointer, ...common.readOnly] };
  }
  return { writable: [], readOnly: kind === "file" ? [pointer] : [], watched: [] };
}

function held(
  folder: string,
  workDir: string,
  isHeld: (path: string) => boolean,
  home: string | undefined,
): HeldRepository {
  makeHooks(folder);
  const [worktrees, modules] = [worktreesIn(DISK, folder), modulesIn(DISK, folder)];
  const watched = [folder, ...[...worktrees.found, ...modules.found].filter(isHeld)];
  const led = watched.flatMap((gitFolder) => {
    const worktree = gitFolder === folder ? workDir : (ownTreeOf(gitFolder) ?? workDir);
    const { configs, hooks, named } = obeyed(DISK, { gitFolder, worktree, ...(home !== undefined && { home }) });
    return [
      ...[...configs, ...named].map(realOf).filter((path) => kindOf(path) === "file"),
      ...hooks.map(realOf).filter((path) => kindOf(path) === "folder" && !isInside(worktree, path)),
    ];
  });
  const leading = watched.flatMap((gitFolder) => leadingIn(DISK, gitFolder));
  const isThere = (path: string) => ["file", "folder"].includes(kindOf(path) ?? "");
  const unknown = [...worktrees.unknown, ...modules.unknown].filter(isHeld);
  return { writable: [], readOnly: [...new Set([...leading, ...led, ...unknown])].filter(isThere), watched };
}

/** Creates the hooks folder. Only in repositories: any folder may be named `.git`. */
function makeHooks(folder: string): void {
  if (kindOf(join(folder, "HEAD")) !== "file" || kindOf(join(folder, "hooks")) !== undefined) return;
  tried(() => mkdirSync(bytesOf(join(folder, "hooks")))); // if it is read-only for this process, it is for commands too
}

/** The work tree of a submodule's or a linked worktree's `.git` folder, as that says. */
function ownTreeOf(gitFolder: string): string | undefined {
  const pointer = readRegular(join(gitFolder, "gitdir"), 8_192)?.toString().trim();
  if (pointer !== undefined) return dirname(resolve(gitFolder, pointer));
  const config = readRegular(join(gitFolder, "config"), LONGEST_CONFIG)?.toString() ?? "";
  const worktree = /^\s*worktree\s*=\s*(.+?)\s*$/m.exec(config)?.[1];
  return worktree === undefined ? undefined : resolve(gitFolder, worktree);
}

/** Finds repositories among work trees. */
export interface RepositoryFinder {
  /**
   * Adds the submodules that git itself enters: it runs what their configurations name when it asks for their status.
   */
  withSubmodules(repositories: readonly string[]): readonly string[];
}

/** Creates a finder. An unchanged index is not read again. */
export function repositoryFinder(): RepositoryFinder {
  const known = new Map<string, { readonly version: string; readonly paths: readonly string[] }>();
  const gitlinksIn = (gitFolder: string) =>
    indexesIn(gitFolder).flatMap((file) => {
      const version = versionOf(file);
      if (version === undefined) return [];
      const before = known.get(file);
      if (before?.version === version) return before.paths;
      const paths = gitlinksOf(readRegular(file, LARGEST) ?? Buffer.alloc(0), hashOf(gitFolder));
      known.set(file, { version, paths });
      return paths;
    });
  return {
    withSubmodules(repositories) {
      const all = new Set(repositories);
      for (const folder of all) {
        const own = gitFolderOf(DISK, folder);
        if (own === undefined || all.size > 2 * MOST_REPOSITORIES) continue;
        for (const path of gitlinksIn(own))
          if (kindOf(join(folder, path, ".git")) !== undefined) all.add(join(folder, path));
      }
      return [...all];
    },
  };
}

/** Those of the given files that are unchanged in git. Every command can read their content anyway. */
export function filesInGit(worktrees: readonly string[], paths: readonly string[]): readonly string[] {
  return worktrees.flatMap((folder) => {
    const inside = paths.filter((path) => isInside(path, folder));
    const own = inside.length === 0 ? undefined : gitFolderOf(DISK, folder);
    if (own === undefined) return [];
    const stats = new Map(inside.map((path) => [relative(folder, path), statOf(path)]));
    const unchanged = new Set<string>();
    for (const file of indexesIn(own)) {
      for (const entry of entriesOf(readRegular(file, LARGEST) ?? Buffer.alloc(0), hashOf(own))) {
        const name = entry.name();
        if (stats.get(name) === entry.stat()) unchanged.add(join(folder, name));
      }
    }
    return inside.filter((path) => unchanged.has(path));
  });
}

function statOf(path: string): string | undefined {
  const info = lstatSync(bytesOf(path), { bigint: true, throwIfNoEntry: false });
  return info?.isFile() === true ? statText(info) : undefined;
}

function indexesIn(gitFolder: string): readonly string[] {
  return namesIn(gitFolder)
    .filter(isIndexName)
    .map((name) => join(gitFolder, name));
}

function hashOf(gitFolder: string): 20 | 32 {
  return hashBytes(readRegular(join(gitFolder, "config"), LONGEST_CONFIG)?.toString("latin1") ?? "");
}

/**
 * What the repositories of a command were before it ran. It is on disk while the command runs, so that the next session
 * holds back what a killed one left.
 */
export interface Before {
  /** The folders that are searched for repositories, and those that the command can write. */
  readonly roots: readonly string[];
  readonly writable: readonly string[];
  /** Paths that it was granted to write, with all in them. */
  readonly lifted: readonly string[];
  /** Work trees and `.git` folders from before any command. */
  readonly old: readonly string[];
  readonly watched: readonly string[];
  /** Paths in the watched folders that lead git to programs or other folders. */
  readonly leading: readonly string[];
  /** Unfinished operations, each with what it starts (`startedBy`). */
  readonly operations: readonly (readonly [path: string, started: readonly string[]])[];
  /** Replacements of objects: lines of packed refs. */
  readonly replacements: readonly string[];
  /** Indexes that are too large to be read. */
  readonly unread: readonly string[];
}

/** Returns this part of `Before` for the `.git` folders, as they are now. */
export function stateOf(gitFolders: readonly string[]): Pick<Before, "operations" | "replacements" | "unread"> {
  const paths = gitFolders.flatMap((folder) => operationsIn(DISK, folder));
  return {
    operations: paths.map((path) => [path, startedBy(DISK, path)] as const),
    replacements: gitFolders.flatMap((folder) => replacementsIn(packedRefs(folder)).map(([line]) => line)),
    unread: gitFolders.flatMap(indexesIn).filter(isTooLarge),
  };
}

const isTooLarge = (path: string) => (tried(() => statSync(bytesOf(path)).size) ?? 0) > LARGEST;

/**
 * Disables what a command left in repositories that leads git to programs, other folders or other objects. In new
 * repositories, lines of the configuration become comments and hooks are renamed. In all, an unfinished operation that
 * would start something new is renamed. Only links and special files are deleted. No link is followed.
 *
 * @param gitFolders the `.git` folders that exist now
 * @returns the changed paths, also those that could not be changed
 */
export function holdBack(before: Before, gitFolders: readonly string[]): readonly string[] {
  const isLifted = (path: string) => before.lifted.some((granted) => isInside(path, granted));
  const leading = new Set(before.leading);
  const old = new Set(before.old);
  const operations = new Map(before.operations);
  const replacements = new Set(before.replacements);
  let made = 0;
  const changed = before.watched
    .flatMap((folder) => leadingIn(DISK, folder))
    .filter((path) => !leading.has(path) && !isLifted(path) && putAside(path));
  const all = new Set(gitFolders);
  for (const folder of all) {
    const isMade =
      before.writable.some((root) => isInside(folder, root)) && !old.has(folder) && !isLifted(join(folder, "config"));
    if (isMade && ++made > MOST_REPOSITORIES) {
      if (putAside(folder)) changed.push(folder);
      continue;
    }
    for (const path of operationsIn(DISK, folder)) {
      const known = operations.get(path) ?? [];
      if (startedBy(DISK, path).some((each) => !known.includes(each)) && putAside(path)) changed.push(path);
    }
    const isNewlyLarge = (path: string) => isTooLarge(path) && !before.unread.includes(path);
    changed.push(...indexesIn(folder).filter((path) => isNewlyLarge(path) && putAside(path)));
    if (holdReplacements(folder, replacements)) changed.push(join(folder, "packed-refs"));
    if (!isMade) continue;
    const common = commonOf(DISK, folder);
    if (common !== undefined) all.add(common);
    for (const name of ["config", "config.worktree"])
      if (holdConfig(join(folder, name))) changed.push(join(folder, name));
    changed.push(...holdHooks(join(folder, "hooks")));
    for (const path of modulesIn(DISK, folder).unknown) if (putAside(path)) changed.push(path);
  }
  return changed;
}

/** Hooks are never folders. */
function holdHooks(hooks: string): readonly string[] {
  if (kindOf(hooks) !== "folder") return [hooks].filter(putAside);
  const names = namesIn(hooks).filter((name) => !name.endsWith(".sample") && !ASIDE.test(name));
  return names.map((name) => join(hooks, name)).filter((path) => kindOf(path) !== "folder" && putAside(path));
}

function holdConfig(path: string): boolean {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  const text = kind === "file" ? readRegular(path, LONGEST_CONFIG)?.toString("latin1") : undefined; // byte for byte
  if (text === undefined) return putAside(path);
  // A submodule's repository lies inside the repository of its parent work tree.
  const [tree, module] = path.split("/.git/modules/");
  const harmless = harmlessConfig(text, (worktree) => {
    return module !== undefined && tree !== undefined && isInside(resolve(dirname(path), worktree), tree);
  });
  return harmless !== text && replaceContent(path, Buffer.from(harmless, "latin1"));
}

const packedRefs = (gitFolder: string) => readRegular(join(gitFolder, "packed-refs"), LARGEST) ?? Buffer.alloc(0);

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

/** Removes new replacements from packed refs. */
function holdReplacements(gitFolder: string, known: ReadonlySet<string>): boolean {
  const path = join(gitFolder, "packed-refs");
  const kind = kindOf(path);
  if (kind === undefined) return false;
  const refs = readRegular(path, LARGEST);
  if (refs === undefined) return putAside(path);
  const lines = replacementsIn(refs).filter(([line]) => !known.has(line));
  if (lines.length === 0) return false;
  const cuts = [...lines.flatMap(([, start, end]) => [start, end]), refs.length];
  const kept = [0, ...cuts].flatMap((at, index, all) => (index % 2 === 0 ? [refs.subarray(at, all[index + 1])] : []));
  return replaceContent(path, Buffer.concat(kept));
}
