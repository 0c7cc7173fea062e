import type { Effect } from "../contract/effect.ts";
import { isAct } from "../contract/effect.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { check } from "../engine/check.ts";
import { parse } from "../engine/parse.ts";
import { NO_MASK } from "../output/mask.ts";
import { untilAborted } from "../util/abort.ts";
import { isInside } from "../util/paths.ts";

/** What a call would touch. */
export interface Touched {
  readonly effects: readonly Effect[];
  /** Whether the call only runs commands, in the sandbox and without a question. */
  readonly isContained: boolean;
}

/**
 * Returns what each call would touch, in the order of the calls. An invalid call touches nothing, because it does not
 * run. Real paths are looked up (concurrently) only if a call writes. The policy is asked only if several calls run
 * commands. A single call is not examined and gets no effects. Rejects when the signal fires.
 */
export async function touchedBy(
  calls: readonly { readonly name: string; readonly input: string }[],
  toolkit: Toolkit,
  signal: AbortSignal,
): Promise<readonly Touched[]> {
  if (calls.length === 1) return [NOTHING];
  const { tools, backend } = toolkit;
  const effects = await Promise.all(
    calls.map(async ({ name, input }) => {
      const checked = await check(parse({ name, input }), { tools, mask: NO_MASK }).catch(() => undefined);
      return checked?.effects ?? [];
    }),
  );
  const writes = effects.flat().some(({ kind }) => kind === "write");
  const severalCommands = effects.filter(onlyCommands).length > 1;
  const withReal = async (effect: Effect): Promise<Effect> => {
    if (!writes || !hasPath(effect)) return effect;
    const real = await backend.files.realPath(effect.path).catch(() => undefined);
    return real === undefined ? effect : { ...effect, real };
  };
  const touched = effects.map(async (each) => ({
    effects: await Promise.all(each.map(withReal)),
    isContained: severalCommands && onlyCommands(each) && (await runsContained(each, toolkit)),
  }));
  return untilAborted(Promise.all(touched), signal);
}

export const NOTHING: Touched = { effects: [], isContained: false };

function onlyCommands(effects: readonly Effect[]): boolean {
  return effects.length > 0 && effects.every(({ kind }) => kind === "exec");
}

/** The policy judges the call again when it runs: this only decides whether the call waits for earlier calls. */
async function runsContained(effects: readonly Effect[], { backend, judge }: Toolkit): Promise<boolean> {
  if (backend.sandbox === undefined || !(await backend.sandbox.state()).works) return false;
  const decision = await judge(effects).catch(() => undefined);
  return decision?.verdict === "allow" && decision.within !== "none";
}

/**
 * Returns true when two calls must run in their written order: both may touch the same thing, and at least one of them
 * acts or both use the browser. A command may touch any path. Contained commands still run side by side, as in two
 * shells of the same user: the model knows this.
 */
export function mustBeInOrder(one: Touched, other: Touched): boolean {
  if (one.isContained && other.isContained) return false;
  return one.effects.some((effect) =>
    other.effects.some((next) => (isAct(effect) || isAct(next) || isPage(effect)) && touchTheSame(effect, next)),
  );
}

function touchTheSame(one: Effect, other: Effect): boolean {
  if (hasPath(one) && hasPath(other)) {
    if (one.real === undefined || other.real === undefined) return true; // its real path is unknown
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

/** The open page depends on every earlier action. */
function isPage({ kind }: Effect): boolean {
  return kind === "page";
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
