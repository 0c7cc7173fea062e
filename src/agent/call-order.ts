import type { Effect } from "../contract/effect.ts";
import { isAct } from "../contract/effect.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { check } from "../engine/check.ts";
import { parse } from "../engine/parse.ts";
import { NO_MASK } from "../output/mask.ts";
import { absolutePath, isInside } from "../util/paths.ts";

/** What a call would touch, as far as its arguments are valid. A call that is not valid touches nothing: it does not run. */
export async function effectsOf(toolkit: Toolkit, name: string, input: string): Promise<readonly Effect[]> {
  try {
    return (await check(parse({ name, input }), { tools: toolkit.tools, mask: NO_MASK })).effects;
  } catch {
    return [];
  }
}

/**
 * True when two calls must run in the order in which they were written: one of them acts, and both may touch the same thing. Paths are compared as
 * written; a command may touch any path.
 */
export function mustBeInOrder(
  one: readonly Effect[],
  other: readonly Effect[],
  base: { readonly workDir: string; readonly home: string },
): boolean {
  return one.some((effect) => other.some((next) => (isAct(effect) || isAct(next)) && touchTheSame(effect, next, base)));
}

function touchTheSame(one: Effect, other: Effect, base: { readonly workDir: string; readonly home: string }): boolean {
  if (hasPath(one) && hasPath(other)) {
    const [path, next] = [absolutePath(one.path, base), absolutePath(other.path, base)];
    return isInside(path, next) || isInside(next, path);
  }
  if (touchesFiles(one) && touchesFiles(other)) return true;
  if (isRequest(one) && isRequest(other)) return originOf(one.url) === originOf(other.url);
  if (one.kind !== other.kind) return false;
  if (one.kind === "delegate") return false; // agents work side by side
  if (one.kind === "state" && other.kind === "state") return one.store === other.store;
  if (one.kind === "foreign" && other.kind === "foreign") return one.from === other.from;
  return true;
}

function isRequest(effect: Effect): effect is Extract<Effect, { url: string }> {
  return effect.kind === "fetch" || effect.kind === "request";
}

function hasPath(effect: Effect): effect is Extract<Effect, { path: string }> {
  return effect.kind === "read" || effect.kind === "write";
}

/** A command, and what is typed into a terminal, may touch any file. */
function touchesFiles(effect: Effect): boolean {
  return hasPath(effect) || effect.kind === "exec" || effect.kind === "terminal";
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
