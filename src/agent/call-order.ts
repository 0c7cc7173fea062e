import type { Effect } from "../contract/effect.ts";
import { isAct } from "../contract/effect.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { check } from "../engine/check.ts";
import { parse } from "../engine/parse.ts";
import { NO_MASK } from "../output/mask.ts";
import { untilAborted } from "../util/abort.ts";
import { isInside } from "../util/paths.ts";

/**
 * Returns what each call would touch, in the order of the calls. An invalid call touches nothing, because it does not
 * run. Real paths are looked up, concurrently, only if a call writes. A single call is not examined and gets no
 * effects. Rejects when the signal fires.
 */
export async function effectsOf(
  calls: readonly { readonly name: string; readonly input: string }[],
  { tools, backend }: Toolkit,
  signal: AbortSignal,
): Promise<readonly (readonly Effect[])[]> {
  if (calls.length === 1) return [[]];
  const effects = await Promise.all(
    calls.map(async ({ name, input }) => {
      const checked = await check(parse({ name, input }), { tools, mask: NO_MASK }).catch(() => undefined);
      return checked?.effects ?? [];
    }),
  );
  if (!effects.flat().some(({ kind }) => kind === "write")) return effects;
  const withReal = async (effect: Effect): Promise<Effect> => {
    if (!hasPath(effect)) return effect;
    const real = await backend.files.realPath(effect.path).catch(() => undefined);
    return real === undefined ? effect : { ...effect, real };
  };
  return untilAborted(Promise.all(effects.map((each) => Promise.all(each.map(withReal)))), signal);
}

/**
 * Returns true when two calls must run in their written order: one of them acts, and both may touch the same thing. A
 * command may touch any path.
 */
export function mustBeInOrder(one: readonly Effect[], other: readonly Effect[]): boolean {
  return one.some((effect) => other.some((next) => (isAct(effect) || isAct(next)) && touchTheSame(effect, next)));
}

function touchTheSame(one: Effect, other: Effect): boolean {
  if (hasPath(one) && hasPath(other)) {
    if (one.real === undefined || other.real === undefined) return true; // the real path is unknown
    return isInside(one.real, other.real) || isInside(other.real, one.real);
  }
  if (touchesFiles(one) && touchesFiles(other)) return true;
  if (isRequest(one) && isRequest(other)) return originOf(one.url) === originOf(other.url);
  if (one.kind !== other.kind) return false;
  if (one.kind === "delegate") return false; // agents work concurrently
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

/** Returns true for commands and terminal input, which may touch any file. */
function touchesFiles(effect: Effect): boolean {
  return hasPath(effect) || effect.kind === "exec" || effect.kind === "terminal";
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}
