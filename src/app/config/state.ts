import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * Returns the folder of Handrail's state (database, outputs, grants): `$XDG_STATE_HOME/handrail`, by default
 * `~/.local/state/handrail`. A relative value counts as unset (XDG Base Directory Specification).
 */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(xdg(env, "XDG_STATE_HOME", ".local/state"), "handrail");
}

/** Returns the path of the database. */
export function databaseFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(stateFolder(env), "handrail.db");
}

/** Returns the path of the file with the users of the API: `users.json` in the state folder. */
export function usersFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(stateFolder(env), "users.json");
}

/** Returns the path of the file with API keys, as `NAME=value` lines: `keys` in `configFolder()`. */
export function keyFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(configFolder(env), "keys");
}

/** Returns the folder of the cache of compiled code: `$XDG_CACHE_HOME/handrail`, by default `~/.cache/handrail`. */
export function compileCacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(xdg(env, "XDG_CACHE_HOME", ".cache"), "handrail");
}

/** Returns the folder of the user's own configuration: `$XDG_CONFIG_HOME/handrail`, by default `~/.config/handrail`. */
export function configFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(xdg(env, "XDG_CONFIG_HOME", ".config"), "handrail");
}

/** Returns the user's home folder: `$HOME`, or that of the account. */
export function homeOf({ HOME = "" }: NodeJS.ProcessEnv): string {
  return HOME === "" ? homedir() : HOME;
}

function xdg(env: NodeJS.ProcessEnv, name: string, fallback: string): string {
  const value = env[name];
  return value !== undefined && isAbsolute(value) ? value : join(homeOf(env), fallback);
}

/** Returns the folder of the undo stores of all workspaces. */
export function undoFolder(stateDir: string): string {
  return `${stateDir}/undo`;
}

/** Returns the folder of the jobs of all owners. Each owner has a folder in it. */
export function jobsFolder(stateDir: string): string {
  return `${stateDir}/jobs`;
}

/** Returns the folder of the saved outputs of all owners. */
export function outputsFolder(stateDir: string): string {
  return `${stateDir}/outputs`;
}

/** Returns the folder of permanent grants. */
export function grantsFolder(stateDir: string): string {
  return `${stateDir}/grants`;
}

/** Returns the folder of the sessions of browsers. */
export function browsersFolder(stateDir: string): string {
  return `${stateDir}/browsers`;
}

/** Returns the folder of the browsers: their profiles, and what they need while they run. */
export function browserFolder(stateDir: string): string {
  return `${stateDir}/browser`;
}
