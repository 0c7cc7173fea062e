import { lstatSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { configFolder } from "./state.ts";

/** The name of a project's file. */
export const PROJECT_FILE = "handrail.yaml";

/** Which files configure this run. Absolute; left out where there is none. */
export interface ConfigFiles {
  /** The user's own: `config.yaml` in `configFolder()`. */
  readonly user?: string;
  /** The one that the user named: it is their own as well, and then no project's file is looked for. */
  readonly named?: string;
  /** The one that came with the project. */
  readonly project?: string;
}

export interface FindOptions {
  /** `--config`: a file, relative to the current folder. */
  readonly named?: string;
  /** Where the search begins. Default: the current folder. */
  readonly from?: string;
}

/** Finds the configuration files: a few looks at the disk, nothing is read. */
export function findConfig({ named, from = "." }: FindOptions = {}): ConfigFiles {
  const user = join(configFolder(), "config.yaml");
  const project = named === undefined ? findProjectFile(from) : undefined;
  return {
    ...(isThere(user) && { user }),
    ...(named !== undefined && { named: resolve(named) }),
    ...(project !== undefined && { project }),
  };
}

/**
 * The nearest `handrail.yaml` in the folder or one above it, up to the home folder (itself included) or the root. One that is
 * there in any form counts, so that a broken link or a folder of that name is an error and not passed over.
 */
export function findProjectFile(from = "."): string | undefined {
  const homes = [homedir(), real(homedir())];
  for (let folder = real(resolve(from)); ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    if (isThere(file)) return file;
    if (homes.includes(folder) || folder === dirname(folder)) return undefined;
  }
}

/** In a folder that may not be entered nothing is there for us. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
