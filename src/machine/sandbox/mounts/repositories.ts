import { lstatSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { DISK, kindOf, readRegular } from "../../git/disk.ts";
import { gitFolderOf, withSubmodules } from "../../git/folders.ts";
import { type Before, type Held, type HoldOptions, heldOf, holdings } from "../../git/hold-back.ts";
import { entriesOf, gitlinksOf, hashBytes, indexesIn, statText } from "../../git/index-file.ts";
import { LARGEST_INDEX, type Reader } from "../../git/reader.ts";
import { bytesOf } from "../../../core/util/byte-paths.ts";
import { tried } from "../../../core/util/errors.ts";
import { isInside } from "../../../core/util/paths.ts";
import { versionOf } from "../read-files.ts";
import { putAside, replaceContent } from "./put-aside.ts";
import type { SandboxDisk } from "./sandbox-disk.ts";

/** What contained commands may do with a repository. Real paths. */
export interface HeldRepository extends Held {
  /** Folders outside the workspace: the repository of a linked worktree. */
  readonly writable: readonly string[];
}

/** @param linked the repository, if the folder is a linked worktree (see `linkedWorktree`) */
export interface HeldOptions extends Omit<HoldOptions, "worktree"> {
  readonly linked?: string | undefined;
}

/**
 * Returns what to protect of the repository in a folder. On this machine it creates the hooks folder, so that commands
 * cannot; elsewhere a hooks folder that a command makes is put aside.
 */
export function heldRepository(
  disk: Reader & Pick<SandboxDisk, "isHere">,
  workDir: string,
  { linked, ...options }: HeldOptions = {},
): HeldRepository {
  const pointer = join(workDir, ".git");
  const kind = disk.kindOf(pointer);
  if (kind === "folder") return { ...held(disk, pointer, workDir, options), writable: [] };
  if (kind === "file" && linked !== undefined && disk.kindOf(linked) === "folder") {
    const common = held(disk, linked, workDir, { ...options, isHeld: () => true });
    return { ...common, writable: [linked], readOnly: [pointer, ...common.readOnly] };
  }
  return { writable: [], readOnly: kind === "file" ? [pointer] : [], watched: [], absent: [] };
}

/** Creates the hooks folder only in repositories: any folder may be named `.git`. */
function held(
  disk: Reader & Pick<SandboxDisk, "isHere">,
  folder: string,
  worktree: string,
  options: Omit<HoldOptions, "worktree">,
): Held {
  if (disk.isHere && kindOf(join(folder, "HEAD")) === "file" && kindOf(join(folder, "hooks")) === undefined)
    tried(() => mkdirSync(bytesOf(join(folder, "hooks")))); // what is read-only for this process is so for commands
  return heldOf(disk, folder, { ...options, worktree });
}

/** Returns a `withSubmodules` that does not read an unchanged index again. */
export function submoduleFinder(): (worktrees: readonly string[]) => readonly string[] {
  const known = new Map<string, { readonly version: string; readonly paths: readonly string[] }>();
  const linked = (gitFolder: string) =>
    indexesIn(DISK, gitFolder).flatMap((file) => {
      const version = versionOf(file);
      if (version === undefined) return [];
      const before = known.get(file);
      if (before?.version === version) return before.paths;
      const paths = gitlinksOf(readRegular(file, LARGEST_INDEX) ?? Buffer.alloc(0), hashBytes(DISK, gitFolder));
      known.set(file, { version, paths });
      return paths;
    });
  return (worktrees) => withSubmodules(DISK, worktrees, linked);
}

/** The given files that are unchanged in git. Every command can read their content anyway. */
export function filesInGit(worktrees: readonly string[], paths: readonly string[]): readonly string[] {
  return worktrees.flatMap((folder) => {
    const inside = paths.filter((path) => isInside(path, folder));
    const own = inside.length === 0 ? undefined : gitFolderOf(DISK, folder);
    if (own === undefined) return [];
    const stats = new Map(inside.map((path) => [relative(folder, path), statOf(path)]));
    const unchanged = new Set<string>();
    for (const file of indexesIn(DISK, own)) {
      for (const entry of entriesOf(readRegular(file, LARGEST_INDEX) ?? Buffer.alloc(0), hashBytes(DISK, own))) {
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

/**
 * Disables what a command left in repositories if it leads git elsewhere (`holdings`). Only links and special files are
 * deleted. No link is followed.
 *
 * @returns the changed paths, also those that could not be changed
 */
export function holdBack(before: Before, gitFolders: readonly string[]): readonly string[] {
  const changed: string[] = [];
  for (const { path, content } of holdings(DISK, before, gitFolders))
    if (content === undefined ? putAside(path) : replaceContent(path, content)) changed.push(path);
  return changed;
}
