import { dirname, join, resolve } from "node:path";
import type { Files } from "../../contract/backend.ts";
import { isInside } from "../../util/paths.ts";
import { kindOf, modulesIn, namesIn } from "./git-folders.ts";
import { harmlessConfig } from "./git-config.ts";
import { gitlinkFinder, unchangedFiles } from "./git-index.ts";
import { realOf } from "./hidden.ts";
import { ASIDE, putAside } from "./put-aside.ts";
import { readRegular } from "./regular-file.ts";

/** So many repositories below one another are followed. */
const MOST_REPOSITORIES = 1_000;

/** A configuration that is longer is put aside as a whole. Bytes. */
const LONGEST_CONFIG = 65_536;

/**
 * Adds to some repositories (their work trees) those that git itself goes into when it looks at them: it asks each for its status, and so runs
 * what that one's configuration says.
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

/** Of these files those that git has as they are in one of these work trees: their content is in the repository, which every command sees. */
export function filesInGit(worktrees: readonly string[], paths: readonly string[]): readonly string[] {
  return worktrees.flatMap((folder) => {
    const inside = paths.filter((path) => isInside(path, folder));
    const own = inside.length === 0 ? undefined : gitFolderOf(folder);
    return own === undefined ? [] : unchangedFiles(own, folder, inside);
  });
}

/** The real folder that git keeps a work tree's repository in; a folder can be one itself. `undefined`: there is none. */
function gitFolderOf(folder: string): string | undefined {
  const pointer = realOf(join(folder, ".git"));
  const kind = kindOf(pointer);
  if (kind === "folder") return pointer;
  if (kind === "file") return leadsTo(pointer, /^gitdir: ([^]+?)[\r\n]*$/, folder);
  return isRepository((name) => kindOf(join(folder, name)) !== undefined) ? folder : undefined;
}

/** Whether git takes a folder with these names in it for a repository: it needs no `.git` (git's is_git_directory). */
export function isRepository(has: (name: string) => boolean): boolean {
  return has("HEAD") && ((has("objects") && has("refs")) || has("commondir"));
}

/** The real folders of a work tree's repository: its own, where it is a linked one that of the others, and those of its submodules. */
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
  /** Whether a command could have made what is in a repository's folder. */
  readonly isMade: (gitFolder: string) => boolean;
}

/**
 * Puts aside what leads git from a new repository to programs: lines of its configuration become comments, hooks get another name. Nothing is
 * deleted but links. No link is followed.
 *
 * @returns the paths that were changed. Never rejects: what cannot be changed is in the list too.
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
    // A folder is no hook.
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
  // A submodule's repository lies in that of the work tree it belongs to.
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

/** The real path that a small file names. */
function leadsTo(file: string, pattern: RegExp, base: string): string | undefined {
  const named = pattern.exec(readRegular(file, 8_192)?.toString() ?? "")?.[1];
  return named === undefined ? undefined : realOf(resolve(base, named));
}
