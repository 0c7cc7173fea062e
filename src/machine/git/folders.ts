import { dirname, join, resolve } from "node:path";
import { pathFrom } from "../../core/util/byte-paths.ts";
import { gitlinksOf, hashBytes, indexesIn } from "./index-file.ts";
import { DEEPER, OPERATION, WORKING, isRepository } from "./layout.ts";
import { LARGEST_INDEX, type Reader, leadsTo, settingAt } from "./reader.ts";

/** How many linked worktrees, and how many submodules, of a repository are followed. */
const MOST = 4_096;

/** How many work trees are followed in all. */
const MOST_WORK_TREES = 20_000;

/** How many levels of folders are searched for a submodule, whose name may contain slashes. */
const MODULE_LEVELS = 16;

/** Folders that were found, and folders with more content than the limits allow: what they hold is unknown. */
export interface FoundFolders {
  readonly found: readonly string[];
  readonly unknown: readonly string[];
}

/** The real `.git` folder of a work tree. It may be the folder itself (bare). `undefined`: it has no repository. */
export function gitFolderOf(reader: Reader, folder: string): string | undefined {
  const pointer = reader.realOf(join(folder, ".git"));
  const kind = reader.kindOf(pointer);
  if (kind === "folder") return pointer;
  if (kind === "file") return leadsTo(reader, pointer, /^gitdir: ([^]+?)[\r\n]*$/, folder);
  return isRepository((name) => reader.kindOf(join(folder, name)) !== undefined) ? folder : undefined;
}

/** The real `.git` folder with which another one (that of a linked worktree) shares its configuration. */
export function commonOf(reader: Reader, gitFolder: string): string | undefined {
  return leadsTo(reader, join(gitFolder, "commondir"), /^([^]+?)[\r\n]*$/, gitFolder);
}

/** The nearest folder, from a real one upwards, that has a repository: where git starts there. */
export function repositoryAbove(reader: Reader, folder: string): string | undefined {
  const above: string[] = [folder];
  for (let at = folder; at !== "/"; at = dirname(at)) above.push(dirname(at));
  const found = above.map((each) => gitFolderOf(reader, each)); // all at once, because they may be looked up together
  return above.find((_, index) => found[index] !== undefined);
}

/** The work tree of a submodule's or a linked worktree's `.git` folder, as the folder names it. */
export function workTreeOf(reader: Reader, gitFolder: string): string | undefined {
  const pointer = leadsTo(reader, join(gitFolder, "gitdir"), /^([^]+?)[\r\n]*$/, gitFolder);
  if (pointer !== undefined) return dirname(pointer);
  const value = settingAt(reader, join(gitFolder, "config"), "core", "worktree");
  return value === undefined ? undefined : resolve(gitFolder, pathFrom(Buffer.from(value, "latin1")));
}

/**
 * Adds the submodules that git itself enters, also a submodule whose `.git` a command has made: git runs what their
 * configurations name. `linked`: the submodules of a `.git` folder. Default: they are read each time.
 */
export function withSubmodules(
  reader: Reader,
  worktrees: readonly string[],
  linked = (gitFolder: string) => submodulesIn(reader, gitFolder).found,
): readonly string[] {
  const all = new Set(worktrees);
  for (const folder of all) {
    const own = gitFolderOf(reader, folder);
    if (own === undefined || all.size > MOST_WORK_TREES) continue;
    for (const path of linked(own))
      if (reader.kindOf(join(folder, path, ".git")) !== undefined) all.add(join(folder, path));
  }
  return [...all];
}

/** The submodules in the index of a `.git` folder, relative to the work tree. `unknown`: indexes past the limit. */
export function submodulesIn(reader: Reader, gitFolder: string): FoundFolders {
  const hash = hashBytes(reader, gitFolder);
  const indexes = indexesIn(reader, gitFolder);
  const read = indexes.map((path) => reader.read(path, LARGEST_INDEX));
  return {
    found: read.flatMap((bytes) => (bytes === undefined ? [] : gitlinksOf(bytes, hash))),
    unknown: indexes.filter((_, index) => read[index] === undefined),
  };
}

/**
 * The real `.git` folders of a work tree: its own, the common folder of a linked worktree, those of the repository's
 * other worktrees (which may be elsewhere), and those of its submodules.
 */
export function gitFoldersOf(reader: Reader, folder: string): readonly string[] {
  const own = gitFolderOf(reader, folder);
  if (own === undefined) return [];
  const common = commonOf(reader, own);
  const shared = common ?? own;
  const others = worktreesIn(reader, shared).found.filter((path) => path !== own);
  return [own, ...(common === undefined ? [] : [common]), ...others, ...modulesIn(reader, shared).found];
}

/**
 * Returns the `.git` folders of a workspace that is a linked worktree or a submodule: its own, and the common folder of
 * the repository. `undefined` if the workspace is neither, or if the repository does not name this workspace: then a
 * command may have written a `.git` that leads there. The sandbox asks before any command runs.
 */
export function linkedWorktree(
  reader: Reader,
  workDir: string,
): { readonly own: string; readonly common: string } | undefined {
  /** As `leadsTo`, but `undefined` for a symbolic link. */
  const leadTo = (file: string, pattern: RegExp, base: string) =>
    reader.kindOf(file) === "file" ? leadsTo(reader, file, pattern, base) : undefined;
  const pointer = join(workDir, ".git");
  const own = leadTo(pointer, /^gitdir: (.+?)\n*$/, workDir);
  if (own === undefined) return undefined;
  const isModule = own.includes("/.git/modules/") && reader.kindOf(join(own, "gitdir")) === undefined;
  if (isModule) return workTreeOf(reader, own) === workDir ? { own, common: own } : undefined;
  if (leadTo(join(own, "gitdir"), /^(.+?)\n*$/, own) !== pointer) return undefined;
  const common = leadTo(join(own, "commondir"), /^(.+?)\n*$/, own);
  return common !== undefined && dirname(dirname(own)) === common ? { own, common } : undefined;
}

/** The folders in a repository's `.git` that belong to its linked worktrees. */
export function worktreesIn(reader: Reader, gitFolder: string): FoundFolders {
  const worktrees = join(gitFolder, "worktrees");
  if (reader.kindOf(worktrees) !== "folder") return { found: [], unknown: [] };
  const found = reader.namesIn(worktrees).map((name) => join(worktrees, name));
  return { found: found.slice(0, MOST), unknown: found.slice(MOST) };
}

/** The folders in a repository's `.git` that belong to its submodules, and to the submodules of these. */
export function modulesIn(reader: Reader, gitFolder: string): FoundFolders {
  const found: string[] = [];
  const unknown: string[] = [];
  const look = (path: string, levels: number): void => {
    if (reader.kindOf(path) !== "folder") return;
    if (levels === 0 || found.length >= MOST) return void unknown.push(path);
    for (const name of reader.namesIn(path)) {
      const inner = join(path, name);
      if (reader.kindOf(join(inner, "HEAD")) === undefined) look(inner, levels - 1);
      else {
        found.push(inner);
        look(join(inner, "modules"), levels - 1);
      }
    }
  };
  look(join(gitFolder, "modules"), MODULE_LEVELS);
  return { found, unknown };
}

/** The paths in a `.git` folder that are neither written by git in daily work nor part of an unfinished operation. */
export function leadingIn(reader: Reader, gitFolder: string): readonly string[] {
  const own = reader.namesIn(gitFolder).filter((name) => !WORKING.test(name) && !OPERATION.test(name));
  const deeper = DEEPER.filter((path) => reader.kindOf(join(gitFolder, path)) !== undefined);
  return [...own, ...deeper].map((path) => join(gitFolder, path));
}

/** The state of unfinished rebases, cherry-picks, reverts and bisects in a `.git` folder. */
export function operationsIn(reader: Reader, gitFolder: string): readonly string[] {
  return reader
    .namesIn(gitFolder)
    .filter((name) => OPERATION.test(name))
    .map((name) => join(gitFolder, name));
}
