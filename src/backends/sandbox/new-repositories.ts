import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Files } from "../../contract/backend.ts";
import { kindOf } from "./git-folders.ts";
import { harmlessConfig } from "./git-config.ts";
import { gitlinkFinder } from "./git-index.ts";
import { realOf } from "./hidden.ts";
import { readRegular } from "./regular-file.ts";

/** So many repositories below one another are followed. */
const MOST_REPOSITORIES = 1_000;

/** A configuration that is longer is put aside as a whole. Bytes. */
const LONGEST_CONFIG = 65_536;

/** Behind the name of what was put aside. */
const ASIDE = ".held-back";

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

/** The real folder that git keeps a work tree's repository in; a folder can be one itself. `undefined`: there is none. */
function gitFolderOf(folder: string): string | undefined {
  const pointer = realOf(join(folder, ".git"));
  const kind = kindOf(pointer);
  if (kind === "folder") return pointer;
  if (kind === "file") return leadsTo(pointer, /^gitdir: ([^]+?)[\r\n]*$/, folder);
  const isBare = ["HEAD", "objects", "refs"].every((name) => kindOf(join(folder, name)) !== undefined);
  return isBare ? folder : undefined;
}

/** The real folders of a work tree's repository: its own, and where it is a linked one that of the others. */
export function gitFoldersOf(folder: string): readonly string[] {
  const own = gitFolderOf(folder);
  if (own === undefined) return [];
  const common = commonOf(own);
  return common === undefined ? [own] : [own, common];
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
      if (await hasChanged(() => holdConfig(join(folder, name), files))) changed.push(join(folder, name));
    }
    const hooks = join(folder, "hooks");
    if (kindOf(hooks) !== undefined && kindOf(hooks) !== "folder") {
      if (await hasChanged(() => removed(hooks, files))) changed.push(hooks);
      continue;
    }
    for (const name of namesIn(hooks).filter((each) => !each.endsWith(".sample") && !each.endsWith(ASIDE))) {
      if (await hasChanged(() => putAside(join(hooks, name), files))) changed.push(join(hooks, name));
    }
  }
  return changed;
}

async function hasChanged(change: () => Promise<boolean>): Promise<boolean> {
  try {
    return await change();
  } catch {
    return true; // it is there and could not be changed
  }
}

async function holdConfig(path: string, files: Files): Promise<boolean> {
  const kind = kindOf(path);
  if (kind === undefined) return false;
  if (kind !== "file") return removed(path, files);
  const text = readRegular(path, LONGEST_CONFIG)?.toString("latin1"); // byte for byte
  if (text === undefined) return putAside(path, files);
  const harmless = harmlessConfig(text);
  if (harmless === text) return false;
  await files.write(path, Buffer.from(harmless, "latin1"), { real: true });
  return true;
}

/** A file keeps its content under another name; folders are no hooks; what else there is goes. */
async function putAside(path: string, files: Files): Promise<boolean> {
  const kind = kindOf(path);
  if (kind === undefined || kind === "folder") return false;
  if (kind === "file") {
    const file = await files.open(path, { real: true });
    try {
      await files.write(`${path}${ASIDE}`, await file.read(0, file.info.size), { real: true });
    } finally {
      await file.close();
    }
  }
  return removed(path, files);
}

async function removed(path: string, files: Files): Promise<boolean> {
  await files.remove(path, { real: true });
  return true;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The real path that a small file names. */
function leadsTo(file: string, pattern: RegExp, base: string): string | undefined {
  const named = pattern.exec(readRegular(file, 8_192)?.toString() ?? "")?.[1];
  return named === undefined ? undefined : realOf(resolve(base, named));
}
