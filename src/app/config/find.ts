import { lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { configFolder, homeOf } from "./state.ts";
import { tried } from "../../core/util/errors.ts";

/** The name of a project's file. */
export const PROJECT_FILE = "handrail.yaml";

/** The name of the file in which projects configure MCP servers for all agents. */
export const MCP_FILE = ".mcp.json";

/** The configuration files of this run, as absolute paths. Absent if there is none. */
export interface ConfigFiles {
  /** The user's own: `config.yaml` in `configFolder()`. */
  readonly user?: string;
  /** The file named with `--config`. It counts as the user's own, and no project's file is searched for then. */
  readonly named?: string;
  /** The file that came with the project. */
  readonly project?: string;
}

/** Where a run is: its environment, and the current folder, to which relative paths refer. */
export interface Here {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Returns where a run is. Default: where this process is. */
export function hereOf({ env = process.env, cwd = process.cwd() }: Partial<Here>): Here {
  return { env, cwd };
}

export interface FindOptions extends Partial<Here> {
  /** `--config`: a file, relative to the current folder. */
  readonly named?: string;
  /** The folder in which the search begins. Default: the current folder. */
  readonly from?: string;
}

/** Finds the configuration files. Checks a few paths, and reads none. */
export function findConfig({ named, from, ...given }: FindOptions = {}): ConfigFiles {
  const here = hereOf(given);
  const user = join(configFolder(here.env), "config.yaml");
  const project = named === undefined ? findProjectFile(from, here) : undefined;
  return {
    ...(isThere(user) && { user }),
    ...(named !== undefined && { named: resolve(here.cwd, named) }),
    ...(project !== undefined && { project }),
  };
}

/**
 * Returns the nearest `handrail.yaml` (or file named `name`) in the folder or above it, up to and including the home
 * folder, or up to the root. Anything with that name counts, so that a broken link or a folder causes an error and is
 * not skipped.
 */
export function findProjectFile(from = ".", here: Here = hereOf({}), name = PROJECT_FILE): string | undefined {
  const home = homeOf(here.env);
  const homes = [home, real(home)];
  for (let folder = real(resolve(here.cwd, from)); ; folder = dirname(folder)) {
    const file = join(folder, name);
    if (isThere(file)) return file;
    if (homes.includes(folder) || folder === dirname(folder)) return undefined;
  }
}

/** Returns false in a folder that may not be entered. */
function isThere(path: string): boolean {
  return tried(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined) ?? false;
}

function real(path: string): string {
  return tried(() => realpathSync(path)) ?? path;
}
