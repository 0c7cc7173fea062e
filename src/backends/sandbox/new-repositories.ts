import { dirname, join, resolve } from "node:path";
import type { Files } from "../../contract/backend.ts";
import { isInside } from "../../util/paths.ts";
import { modulesIn } from "./git-folders.ts";
import { harmlessConfig } from "./git-config.ts";
import { gitlinkFinder, unchangedFiles } from "./git-index.ts";
import { realOf } from "./hidden.ts";
import { ASIDE, putAside } from "./put-aside.ts";
import { kindOf, leadsTo, namesIn, readRegular } from "./read-files.ts";

/** How many repositories are followed in all. */
const MOST_REPOSITORIES = 1_000;

/** A longer configuration is put aside as a whole. Bytes. */
const LONGEST_CONFIG = 65_536;

/**
 * Returns a function that adds to some repositories (their work trees) the submodules that git itself enters. git asks
 * each of them for its status, and so runs what its configuration names.
 */
export function submoduleFinder(): (repositories: readonly string[]) => readonly string[] {
  const gitlinks = gitlinkFinder();
  return (repositories) => {
    const all = new Set(repositories);
    for (const folder of all) {
      const own = gitFolderOf(folder);
      if (own === undefined || all.size > MOST_REPOSITORIES) continue;
      for (const path of gitlinks(own))
        if (kindOf(join(folder, path, ".git")) !== undefined) all.add(join(folder, path));
    }
    return [...all];
  };
}

/** Those of the given files that are unchanged in git. Every command can read their content anyway. */
export function filesInGit(worktrees: readonly string[], paths: readonly string[]): readonly string[] {
  return worktrees.flatMap((folder) => {
    const inside = paths.filter((path) => isInside(path, folder));
    const own = inside.length === 0 ? undefined : gitFolderOf(folder);
    return own === undefined ? [] : unchangedFiles(own, folder, inside);
  });
}

/** The real `.git` folder of a work tree. It may be the folder itself (bare). `undefined`: no repository. */
function gitFolderOf(folder: string): string | undefined {
  const pointer = realOf(join(folder, ".git"));
  const kind = kindOf(pointer);
  if (kind === "folder") return pointer;
  if (kind === "file") return leadsTo(pointer, /^gitdir: ([^]+?)[\r\n]*$/, folder);
  return isRepository((name) => kindOf(join(folder, name)) !== undefined) ? folder : undefined;
}

/** Whether git treats a folder with these names in it as a repository; it needs no `.git` (git's is_git_directory). */
export function isRepository(has: (name: string) => boolean): boolean {
  return has("HEAD") && ((has("objects") && has("refs")) || has("commondir"));
}

/**
 * The real `.git` folders of a work tree: its own, the common one of a linked worktree, and those of its submodules.
 */
export function gitFoldersOf(folder: string): readonly string[] {
  const own = gitFolderOf(folder);
  if (own === undefined) return [];
  const common = commonOf(own);
  return [own, ...(common === undefined ? [] : [common]), ...modulesIn(common ?? own)];
}

function commonOf(gitFolder: string): string | undefined {
  return leadsTo(join(gitFolder, "commondir"), /^([^]+?)[\r\n]*$/, gitFolder);
}

export interface HoldBackOptions {
  readonly files: Files;
  /** Whether a command could have created the content of a `.git` folder. */
  readonly isMade: (gitFolder: string) => boolean;
}

/**
 * Disables what leads git from a new repository to programs: lines of its configuration become comments, hooks are
 * renamed. Only links and special files are deleted. No link is followed.
 *
 * @returns the changed paths. Never rejects: the list also has what could not be changed.
 */
export async function holdBack(
  gitFolders: readonly string[],
  { files, isMade }: HoldBackOptions,
): Promise<readonly string[]> {
  const changed: string[] = [];
  const all = new Set(gitFolders);
  for (const folder of all) {
    if (all.size > MOST_REPOSITORIES) break;
    if (!isMade(folder)) continue;
    const common = commonOf(folder);
    if (common !== undefined) all.add(common);
    for (const name of ["config", "config.worktree"]) {
      if (await holdConfig(join(folder, name), files)) changed.push(join(folder, name));
    }
    const hooks = join(folder, "hooks");
    const isFolder = kindOf(hooks) === "folder";
    const names = isFolder ? namesIn(hooks).filter((each) => !each.endsWith(".sample") && !ASIDE.test(each)) : [];
    // Hooks are never folders.
    const each = names.map((name) => join(hooks, name)).filter((path) => kindOf(path) !== "folder");
    changed.push(...(isFolder ? each : [hooks]).filter(putAside));
  }
  return changed;
}

async function holdConfig(path: string, files: Files): Promise<boolean> {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  const text = kind === "file" ? readRegular(path, LONGEST_CONFIG)?.toString("latin1") : undefined; // byte for byte
  if (text === undefined) return putAside(path);
  // A submodule's repository lies inside the repository of its parent work tree.
  const [tree, module] = path.split("/.git/modules/");
  const harmless = harmlessConfig(text, (worktree) => {
    return module !== undefined && tree !== undefined && isInside(resolve(dirname(path), worktree), tree);
  });
  if (harmless === text) return false;
  return files.write(path, Buffer.from(harmless, "latin1"), { real: true }).then(
    () => true,
    () => putAside(path), // its folder was closed
  );
}
