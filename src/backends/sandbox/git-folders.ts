import { lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ledTo } from "./git-config.ts";
import { realOf } from "./hidden.ts";
import { readRegular } from "./regular-file.ts";

/** What of a repository's own folder makes git run programs, or leads it to another configuration. */
const LEADING = ["config", "config.worktree", "hooks", "modules"] as const;

/** The same where nothing is to be put in its place: while they are missing nobody needs them, and what appears is taken away. */
const MUST_NOT_APPEAR = ["commondir", "config.worktree"] as const;

/** So many linked worktrees of a repository are looked at. */
const MOST_WORKTREES = 64;

/** What contained commands may do with a repository. Real paths. */
export interface GitFolder {
  /** Beside the workspace: where a linked worktree's repository lies. */
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  /** What is not there and must not be after a command either. */
  readonly mustNotAppear: readonly string[];
}

/** Where the repository of a linked worktree is kept: in the `.git` of another folder. */
export interface Worktree {
  /** `.git` of that folder. */
  readonly common: string;
}

/**
 * The repository that a workspace is a linked worktree of. `undefined` when it is none, or when that repository knows nothing of this
 * workspace: then somebody has written a `.git` that leads to it. Ask once, before any command could have written one.
 */
export function linkedWorktree(workDir: string): Worktree | undefined {
  const pointer = join(workDir, ".git");
  const own = leadsTo(pointer, /^gitdir: (.+?)\n*$/, workDir);
  if (own === undefined || leadsTo(join(own, "gitdir"), /^(.+?)\n*$/, own) !== pointer) return undefined;
  const common = leadsTo(join(own, "commondir"), /^(.+?)\n*$/, own);
  if (common === undefined || dirname(dirname(own)) !== common) return undefined;
  return { common };
}

export interface GitFolderOptions {
  /** Where the folder is a linked worktree. */
  readonly worktree?: Worktree;
  /** Which of the folders that linked worktrees have in it are held too. Default: all. */
  readonly isHeld?: (path: string) => boolean;
}

/** What is to be held of the repository in a folder. Makes its folder of hooks where there is none, so that nobody else does. */
export function gitFolder(workDir: string, { worktree, isHeld = () => true }: GitFolderOptions = {}): GitFolder {
  const pointer = join(workDir, ".git");
  const kind = kindOf(pointer);
  if (kind === "folder") return held(pointer, [], isHeld);
  if (kind === "file" && worktree !== undefined && kindOf(worktree.common) === "folder") {
    const common = held(worktree.common, [worktree.common], () => true);
    return { ...common, readOnly: [pointer, ...common.readOnly] };
  }
  return { writable: [], readOnly: kind === "file" ? [pointer] : [], mustNotAppear: [] };
}

/** Takes away what must not have appeared; returns what had. Where a link leads elsewhere by now nothing is touched. Never throws. */
export function takeAway(paths: readonly string[]): readonly string[] {
  return paths.filter((path) => {
    if (kindOf(path) === undefined || realOf(dirname(path)) !== dirname(path)) return false;
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // told all the same
    }
    return true;
  });
}

function held(folder: string, writable: readonly string[], isHeld: (path: string) => boolean): GitFolder {
  makeHooks(folder);
  const leading = [folder, ...worktreesIn(folder).filter(isHeld)].flatMap((each) =>
    (each === folder ? LEADING : ["commondir", "config.worktree"]).map((name) => join(each, name)),
  );
  const { hooks, included } = ledTo(readRegular(join(folder, "config"), 65_536)?.toString() ?? "");
  // As git reads them: from the work tree, and from where the configuration lies. Those of the home are not written anyway.
  const led = [
    ...hooks.map((path) => resolve(dirname(folder), path)),
    ...included.map((path) => resolve(folder, path)),
  ];
  const isThere = (path: string) => ["file", "folder"].includes(kindOf(path) ?? "");
  return {
    writable,
    readOnly: [...leading, join(folder, "commondir"), ...led.map(realOf)].filter(isThere),
    mustNotAppear: MUST_NOT_APPEAR.map((name) => join(folder, name)).filter((path) => kindOf(path) === undefined),
  };
}

/** The folders that a repository (its `.git`) keeps of its linked worktrees. */
export function worktreesIn(folder: string): readonly string[] {
  const worktrees = join(folder, "worktrees");
  if (kindOf(worktrees) !== "folder") return [];
  try {
    return readdirSync(worktrees)
      .slice(0, MOST_WORKTREES)
      .map((name) => join(worktrees, name));
  } catch {
    return [];
  }
}

/** Only in what is a repository: any folder may be called .git. */
function makeHooks(folder: string): void {
  if (kindOf(join(folder, "HEAD")) !== "file" || kindOf(join(folder, "hooks")) !== undefined) return;
  try {
    mkdirSync(join(folder, "hooks"));
  } catch {
    // it is read-only for us, so for commands too
  }
}

/** What is at a path itself, no link followed. Never throws. */
export function kindOf(path: string): "file" | "folder" | "other" | undefined {
  try {
    const info = lstatSync(path);
    if (info.isDirectory()) return "folder";
    return info.isFile() ? "file" : "other";
  } catch {
    return undefined;
  }
}

/** The real path that a small file names; `undefined` where there is none, or it says something else. */
function leadsTo(file: string, pattern: RegExp, base: string): string | undefined {
  if (kindOf(file) !== "file") return undefined;
  const named = pattern.exec(readRegular(file, 8_192)?.toString() ?? "")?.[1];
  return named === undefined ? undefined : realOf(resolve(base, named));
}
