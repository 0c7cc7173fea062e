import { lstatSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ledTo } from "./git-config.ts";
import { realOf } from "./hidden.ts";
import { readRegular } from "./regular-file.ts";

/**
 * What git writes into a repository's own folder in daily work (gitrepository-layout(5); the others are of git 2.39 itself: state of merges,
 * messages, locks). Everything else there is read-only: it configures git, or leads it to programs or to other folders.
 */
const WORKING = new RegExp(
  `^(${[
    "objects|refs|logs|reftable|packed-refs|shallow|worktrees|modules|lfs|rr-cache",
    "HEAD|[A-Z_]+_HEAD|[A-Z_]*EDITMSG|[A-Z_]+_MSG|MERGE_[A-Z_]+|NOTES_MERGE_.+|AUTO_MERGE",
    "index|index\\..+|sharedindex\\..+|gc\\.(log|pid)|.+\\.lock|.+\\.held-back(-\\d+)?",
    "ADD_EDIT\\.patch|addp-hunk-edit\\.diff",
  ].join("|")})$`,
);

/** State of a rebase, cherry-pick, revert or bisect that is not finished. git goes on with it, and runs what it says. */
const SEQUENCE = /^(rebase-merge|rebase-apply|sequencer|BISECT_.+)$/;

/** What deeper in a repository leads git to other objects than it has: in folders that git work writes. */
const DEEPER = ["objects/info/alternates", "objects/info/http-alternates", "refs/replace"] as const;

/** So many linked worktrees, and so many submodules, of a repository are looked at. */
const MOST = 256;

/** So deep in a folder submodules are looked for: their names may have slashes in them. */
const MODULE_LEVELS = 8;

/** What contained commands may do with a repository. Real paths. */
export interface GitFolder {
  /** Beside the workspace: where a linked worktree's repository lies. */
  readonly writable: readonly string[];
  readonly readOnly: readonly string[];
  /** What is there now, was not there before, and is nothing that git work makes. */
  appeared(): readonly string[];
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
  /** Which of the folders that linked worktrees and submodules have in it are held too. Default: all. */
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
  return { writable: [], readOnly: kind === "file" ? [pointer] : [], appeared: () => [] };
}

function held(folder: string, writable: readonly string[], isHeld: (path: string) => boolean): GitFolder {
  makeHooks(folder);
  const folders = [folder, ...worktreesIn(folder).filter(isHeld), ...modulesIn(folder).filter(isHeld)];
  const { hooks, included } = ledTo(readRegular(join(folder, "config"), 65_536)?.toString() ?? "");
  // As git reads them: from the work tree, and from where the configuration lies. Those of the home are not written anyway.
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

/** What is in a repository's own folder, and is neither what git work writes nor a sequence. */
function leadingIn(folder: string): readonly string[] {
  const own = namesIn(folder).filter((name) => !WORKING.test(name) && !SEQUENCE.test(name));
  return [...own, ...DEEPER.filter((path) => kindOf(join(folder, path)) !== undefined)].map((path) =>
    join(folder, path),
  );
}

/** The parts of rebases and their like that are not finished in a repository's own folder. */
export function sequencesIn(folder: string): readonly string[] {
  return namesIn(folder)
    .filter((name) => SEQUENCE.test(name))
    .map((name) => join(folder, name));
}

/** The folders that a repository (its `.git`) keeps of its linked worktrees. */
export function worktreesIn(folder: string): readonly string[] {
  const worktrees = join(folder, "worktrees");
  return kindOf(worktrees) === "folder"
    ? namesIn(worktrees)
        .slice(0, MOST)
        .map((name) => join(worktrees, name))
    : [];
}

/** The folders that a repository (its `.git`) keeps of its submodules, and of theirs. */
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

/** Names in a folder; none where there is no folder. Never throws. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The real path that a small file names; `undefined` where there is none, or it says something else. */
function leadsTo(file: string, pattern: RegExp, base: string): string | undefined {
  if (kindOf(file) !== "file") return undefined;
  const named = pattern.exec(readRegular(file, 8_192)?.toString() ?? "")?.[1];
  return named === undefined ? undefined : realOf(resolve(base, named));
}
