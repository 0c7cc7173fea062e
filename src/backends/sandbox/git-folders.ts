import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { tried } from "../../util/errors.ts";
import { ledTo } from "./git-config.ts";
import { realOf } from "./hidden.ts";
import { kindOf, leadsTo, namesIn, readRegular } from "./read-files.ts";

/**
 * What git writes into a repository's `.git` folder in daily work (gitrepository-layout(5), and what git 2.39 itself
 * writes: state of merges, messages, locks). Everything else there is read-only: it configures git, or leads it to
 * programs or other folders.
 */
const WORKING = new RegExp(
  `^(${[
    "objects|refs|logs|reftable|packed-refs|shallow|worktrees|modules|lfs|rr-cache",
    "HEAD|[A-Z_]+_HEAD|[A-Z_]*EDITMSG|[A-Z_]+_MSG|MERGE_[A-Z_]+|NOTES_MERGE_.+|AUTO_MERGE",
    "index|index\\..+|sharedindex\\..+|gc\\.(log|pid)|.+\\.lock|.+\\.held-back(-\\d+)?",
    "ADD_EDIT\\.patch|addp-hunk-edit\\.diff",
  ].join("|")})$`,
);

/** State of an unfinished rebase, cherry-pick, revert or bisect. git continues it and runs the programs it names. */
const SEQUENCE = /^(rebase-merge|rebase-apply|sequencer|BISECT_.+)$/;

/** Paths deeper in a repository that lead git to other objects. They are in folders that git writes in daily work. */
const DEEPER = ["objects/info/alternates", "objects/info/http-alternates", "refs/replace"] as const;

/** How many linked worktrees, and how many submodules, of a repository are checked. */
const MOST = 256;

/** How many levels of folders are searched for a submodule, whose name may contain slashes. */
const MODULE_LEVELS = 8;

/** What contained commands may do with a repository. Real paths. */
export interface GitFolder {
  /** Folders outside the workspace: the repository of a linked worktree. */
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  /** Paths that are new since this object was created, and that git does not write in daily work. */
  appeared(): readonly string[];
}

/**
 * Returns the repository (the `.git` of another folder) that a workspace is a linked worktree of. `undefined` if it is
 * none, or if that repository does not list this workspace: then a command may have written a `.git` that leads there.
 * Call it once, before any command runs.
 */
export function linkedWorktree(workDir: string): string | undefined {
  const pointer = join(workDir, ".git");
  const own = ownFile(pointer, /^gitdir: (.+?)\n*$/, workDir);
  if (own === undefined || ownFile(join(own, "gitdir"), /^(.+?)\n*$/, own) !== pointer) return undefined;
  const common = ownFile(join(own, "commondir"), /^(.+?)\n*$/, own);
  return dirname(dirname(own)) === common ? common : undefined;
}

export interface GitFolderOptions {
  /** The repository, if the folder is a linked worktree (see `linkedWorktree`). */
  readonly worktree?: string | undefined;
  /** Which folders of linked worktrees and submodules in the repository are protected too. Default: all. */
  readonly isHeld?: (path: string) => boolean;
}

/** Returns what to protect of the repository in a folder. Creates its hooks folder, so that commands cannot. */
export function gitFolder(workDir: string, { worktree, isHeld = () => true }: GitFolderOptions = {}): GitFolder {
  const pointer = join(workDir, ".git");
  const kind = kindOf(pointer);
  if (kind === "folder") return held(pointer, [], isHeld);
  if (kind === "file" && worktree !== undefined && kindOf(worktree) === "folder") {
    const common = held(worktree, [worktree], () => true);
    return { ...common, readOnly: [pointer, ...common.readOnly] };
  }
  return { writable: [], readOnly: kind === "file" ? [pointer] : [], appeared: () => [] };
}

function held(folder: string, writable: readonly string[], isHeld: (path: string) => boolean): GitFolder {
  makeHooks(folder);
  const folders = [folder, ...worktreesIn(folder).filter(isHeld), ...modulesIn(folder).filter(isHeld)];
  const { hooks, included } = ledTo(readRegular(join(folder, "config"), 65_536)?.toString() ?? "");
  // git resolves hooks paths from the work tree, and includes from the configuration's folder. Paths in the home are
  // read-only anyway.
  const led = [
    ...hooks.map((path) => resolve(dirname(folder), path)),
    ...included.map((path) => resolve(folder, path)),
  ];
  const before = new Set(folders.flatMap(leadingIn));
  const isThere = (path: string) => ["file", "folder"].includes(kindOf(path) ?? "");
  return {
    writable,
    readOnly: [...before, ...led.map(realOf)].filter(isThere),
    appeared: () => folders.flatMap(leadingIn).filter((path) => !before.has(path)),
  };
}

/** The paths in a `.git` folder that are neither written by git in daily work nor part of an unfinished operation. */
function leadingIn(folder: string): readonly string[] {
  const own = namesIn(folder).filter((name) => !WORKING.test(name) && !SEQUENCE.test(name));
  return [...own, ...DEEPER.filter((path) => kindOf(join(folder, path)) !== undefined)].map((path) =>
    join(folder, path),
  );
}

/** The state of unfinished rebases, cherry-picks, reverts and bisects in a `.git` folder. */
export function sequencesIn(folder: string): readonly string[] {
  return namesIn(folder)
    .filter((name) => SEQUENCE.test(name))
    .map((name) => join(folder, name));
}

/** The folders in a repository's `.git` that belong to its linked worktrees. At most 256. */
export function worktreesIn(folder: string): readonly string[] {
  const worktrees = join(folder, "worktrees");
  return kindOf(worktrees) === "folder"
    ? namesIn(worktrees)
        .slice(0, MOST)
        .map((name) => join(worktrees, name))
    : [];
}

/** The folders in a repository's `.git` that belong to its submodules, and to theirs. At most 256. */
export function modulesIn(folder: string): readonly string[] {
  const found: string[] = [];
  const look = (path: string, levels: number): void => {
    if (kindOf(path) !== "folder" || levels === 0) return;
    for (const name of namesIn(path)) {
      if (found.length >= MOST) return;
      const inner = join(path, name);
      if (kindOf(join(inner, "HEAD")) === undefined) look(inner, levels - 1);
      else {
        found.push(inner);
        look(join(inner, "modules"), levels - 1);
      }
    }
  };
  look(join(folder, "modules"), MODULE_LEVELS);
  return found;
}

/** Creates the hooks folder. Only in repositories: any folder may be named `.git`. */
function makeHooks(folder: string): void {
  if (kindOf(join(folder, "HEAD")) !== "file" || kindOf(join(folder, "hooks")) !== undefined) return;
  tried(() => mkdirSync(join(folder, "hooks"))); // if it is read-only for this process, it is for commands too
}

/** As `leadsTo`, but `undefined` for a symbolic link. */
function ownFile(file: string, pattern: RegExp, base: string): string | undefined {
  return kindOf(file) === "file" ? leadsTo(file, pattern, base) : undefined;
}
