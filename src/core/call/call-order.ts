import type { Effect } from "../contract/effect.ts";
import { isAct } from "../contract/effect.ts";
import type { CallRequest, Toolkit } from "../contract/toolkit.ts";
import { NO_MASK } from "../output/mask.ts";
import { untilAborted } from "../util/abort.ts";
import { isInside } from "../util/paths.ts";
import { later, shared } from "../util/promises.ts";
import { check } from "./check.ts";
import { parse } from "./parse.ts";

/** Keeps calls that may touch the same thing in the order in which a model wrote them. */
export interface CallOrder {
  /**
   * Makes a call once every earlier call has ended that it must not overtake. The call takes its place at once, before
   * the first await. When the signal fires, nothing is looked up any more: the call waits for all earlier ones,
   * which the signal stops too, and `make` looks at the signal. Resolves or rejects as `make` does.
   */
  run<T>(call: Pick<CallRequest, "name" | "input">, make: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/**
 * Creates the order of the calls of one conversation. Calls that only look run side by side, and so do commands that
 * run in the sandbox without a question, as in two shells of the same user. Of two other calls, the later one waits if
 * one of them acts and both may touch the same thing. What a call touches is looked up only when another one waits for
 * it: its effects first, real paths only if one of the two writes, the policy only for two commands. An invalid call
 * touches nothing, because it does not run.
 */
export function createCallOrder(toolkit: Toolkit): CallOrder {
  const open = new Set<Place>();
  return {
    async run(call, make, signal) {
      const place = placeOf(call, toolkit);
      const earlier = [...open];
      open.add(place);
      try {
        await Promise.all(
          earlier.map(async (other) => {
            const waits = mustWait(place, other);
            if (await (signal === undefined ? waits : untilAborted(waits, signal)).catch(() => true)) await other.ended;
          }),
        );
        return await make();
      } finally {
        open.delete(place);
        place.end();
      }
    },
  };
}

/** A call that has not ended. */
interface Place {
  readonly effects: () => Promise<readonly Effect[]>;
  /** The effects, with the real paths of files. */
  readonly real: () => Promise<readonly Effect[]>;
  /** Whether commands run in the sandbox and without a question. */
  readonly isContained: () => Promise<boolean>;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

function placeOf(call: Pick<CallRequest, "name" | "input">, toolkit: Toolkit): Place {
  const { promise: ended, resolve: end } = later();
  const effects = shared(async () => {
    const checked = await check(parse(call), { tools: toolkit.tools, mask: NO_MASK }).catch(() => undefined);
    return checked?.effects ?? [];
  });
  const withReal = async (effect: Effect): Promise<Effect> => {
    if (!hasPath(effect)) return effect;
    const real = await toolkit.backend.files.realPath(effect.path).catch(() => undefined);
    return real === undefined ? effect : { ...effect, real };
  };
  return {
    effects,
    real: shared(async () => Promise.all((await effects()).map(withReal))),
    isContained: shared(async () => runsContained(await effects(), toolkit)),
    ...{ ended, end },
  };
}

/** The policy judges the call again when it runs: this only decides whether the call waits for earlier calls. */
async function runsContained(effects: readonly Effect[], { backend, judge }: Toolkit): Promise<boolean> {
  if (backend.sandbox === undefined || !(await backend.sandbox.state()).works) return false;
  const decision = await judge(effects).catch(() => undefined);
  return decision?.verdict === "allow" && decision.within !== "none";
}

/** Whether two calls must run in their written order. */
async function mustWait(one: Place, other: Place): Promise<boolean> {
  const [effects, others] = await Promise.all([one.effects(), other.effects()]);
  if (onlyCommands(effects) && onlyCommands(others))
    return !(await Promise.all([one.isContained(), other.isContained()])).every(Boolean);
  if (!mayConflict(effects, others)) return false;
  return mayConflict(...(await Promise.all([one.real(), other.real()])));
}

/** Whether one of two calls acts, or both use the browser, and both may touch the same thing. */
function mayConflict(effects: readonly Effect[], others: readonly Effect[]): boolean {
  return effects.some((effect) =>
    others.some((other) => (isAct(effect) || isAct(other) || isPage(effect)) && touchTheSame(effect, other)),
  );
}

function onlyCommands(effects: readonly Effect[]): boolean {
  return effects.length > 0 && effects.every(({ kind }) => kind === "exec");
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
