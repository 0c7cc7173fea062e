import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * Where Handrail keeps its state (database, outputs, grants): `$XDG_STATE_HOME/handrail`, by default
 * `~/.local/state/handrail`. A relative value counts as unset (XDG Base Directory Specification).
 */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(xdg(env["XDG_STATE_HOME"], ".local/state"), "handrail");
}

/** The database of what happened. */
export function databaseFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(stateFolder(env), "handrail.db");
}

/** API keys, as `NAME=value` lines: `keys` in `configFolder()`. */
export function keyFile(env: NodeJS.ProcessEnv = process.env): string {
  return join(configFolder(env), "keys");
}

/** Where compiled code is kept that can be thrown away: `$XDG_CACHE_HOME/handrail`, by default `~/.cache/handrail`. */
export function compileCacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(xdg(env["XDG_CACHE_HOME"], ".cache"), "handrail");
}

/** Where the user's own configuration is: `$XDG_CONFIG_HOME/handrail`, by default `~/.config/handrail`. */
export function configFolder(env: NodeJS.ProcessEnv = process.env): string {
  return join(xdg(env["XDG_CONFIG_HOME"], ".config"), "handrail");
}

function xdg(value: string | undefined, fallback: string): string {
  return value !== undefined && isAbsolute(value) ? value : join(homedir(), fallback);
}
