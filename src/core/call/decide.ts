import type { Store } from "../contract/activity.ts";
import type { Backend, FileInfo, Files } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { Unreachable } from "../contract/failure.ts";
import { type Decision, type Verdict, stricter } from "../contract/decision.ts";
import { messageOf } from "../util/errors.ts";
import { hasReadForeignText } from "./foreign-text.ts";
import { aheadOf, expectedCall, openAhead } from "./ahead.ts";
import type { Host } from "./host.ts";

/**
 * Asks all policies about a call and returns the strictest decision. If no policy decides, a call without effects is
 * allowed and any other call is asked about. A policy that throws denies the call.
 *
 * Also resolves the real path of every path in the effects, and the real pane, once. The policies judge these and
 * `confine` enforces them, so a link that changes in between has no effect.
 *
 * On a far backend with "expected", a call that only reads is first judged as if the paths that it names were real. If
 * that is allowed, nothing is looked up: each access checks its path. A call that reads a file and then writes it has
 * the file opened meanwhile, if its reading is allowed.
 *
 * @throws Unreachable when the backend cannot be reached: then nothing can be judged, and nothing is denied.
 */
export async function decide(
  checked: CheckedCall,
  { policies, backend, store }: Pick<Host, "policies" | "backend" | "store">,
  paths: KnownPaths = new Map(),
): Promise<{ call: CheckedCall; decision: Decision }> {
  const marked = checked.effects.some(isCore) ? await withForeignText(checked, store) : checked;
  const judgeAll = async (call: CheckedCall): Promise<Decision> => {
    let strictest: Decision | undefined;
    for (const policy of policies) {
      try {
        strictest = stricter(strictest, valid(await policy(call)));
      } catch (error) {
        if (error instanceof Unreachable) throw error;
        strictest = stricter(strictest, denied(messageOf(error)));
      }
    }
    return strictest ?? (call.effects.length === 0 ? NOTHING_TOUCHED : NOBODY_DECIDED);
  };
  if (!marked.effects.some(hasReal)) return { call: marked, decision: await judgeAll(marked) };
  const expected = paths === "expected" ? expectedCall(marked, backend) : undefined;
  if (expected !== undefined) {
    const decision = await judgeAll(expected);
    if (decision.verdict === "allow") return { call: expected, decision };
  }
  const opened = paths === "expected" ? await openAhead(marked, backend, judgeAll) : undefined;
  const call = await withRealPaths(marked, backend, paths === "expected" ? new Map() : paths);
  const decision = await judgeAll(call);
  const ahead = opened === undefined ? undefined : aheadOf(opened, decision.verdict === "allow" ? call : undefined);
  return { call: ahead === undefined ? call : { ...call, ahead }, decision };
}

/** "expected": see `decide`. A map: real paths that the target has reported, by the path as named. */
export type KnownPaths = "expected" | ReadonlyMap<string, string>;

const NOTHING_TOUCHED: Decision = { verdict: "allow", risk: "low", rule: "no_effect" };
const NOBODY_DECIDED: Decision = {
  verdict: "ask",
  risk: "medium",
  rule: "default",
  reason: "This call requires approval: no rule allows it",
};

function valid(decision: Decision | undefined): Decision | undefined {
  if (decision === undefined || VERDICTS.has(decision.verdict)) return decision;
  return denied(`expected a decision with the verdict "allow", "ask" or "deny", got ${JSON.stringify(decision)}`);
}

// A policy without types may return anything; an unknown verdict must not count as approval.
const VERDICTS: ReadonlySet<unknown> = new Set<Verdict>(["allow", "ask", "deny"]);

function denied(why: string): Decision {
  return { verdict: "deny", risk: "high", rule: "error", reason: `The policy could not judge this call: ${why}` };
}

/** Marks core memories of a thread that has read foreign text. If the store cannot be read, the thread counts so. */
async function withForeignText(call: CheckedCall, store: Store): Promise<CheckedCall> {
  const { effects, request } = call;
  const isAfter = await hasReadForeignText(store, request).catch(() => true);
  const marked = effects.map((effect) => {
    if (effect.kind !== "state" || effect.core === undefined) return effect;
    const { afterForeignText: _, ...given } = effect;
    return isAfter ? { ...given, afterForeignText: true as const } : given;
  });
  return { ...call, effects: marked };
}

function isCore(effect: Effect): boolean {
  return effect.kind === "state" && effect.core !== undefined;
}

async function withRealPaths(
  call: CheckedCall,
  backend: Backend,
  reported: ReadonlyMap<string, string>,
): Promise<CheckedCall> {
  const found = new Map<string, FileInfo | undefined>();
  const known = new Map<string, Promise<string | undefined>>(); // an edit reads and writes one path
  for (const [path, real] of reported) known.set(path, Promise.resolve(real));
  const realPath = (path: string) => {
    const real = known.get(path) ?? realPathOf(path, backend.files);
    known.set(path, real);
    return real;
  };
  const effects = await Promise.all(
    call.effects.map(async (effect): Promise<Effect> => {
      if (effect.kind === "exec") return inFolder(effect, backend);
      if (effect.kind === "read") return withReal(effect, await realPath(effect.path));
      if (effect.kind === "write") return withFound(effect, realPath(effect.path), found, backend);
      if (effect.kind === "terminal") return atPane(effect, backend);
      return effect;
    }),
  );
  return { ...call, effects, found };
}

/**
 * Resolves the real path and looks up the file: for a write, the policy and people need the file. On a far backend both
 * share a round trip; elsewhere the real path is not resolved a second time.
 */
async function withFound(
  { isNew: _, ...effect }: WriteEffect,
  realPath: Promise<string | undefined>,
  found: Map<string, FileInfo | undefined>,
  { files, isFar }: Backend,
): Promise<Effect> {
  const look = (stat: Promise<FileInfo | undefined>) =>
    stat.then(
      (info) => ({ info }),
      () => undefined,
    );
  const early = isFar === true ? look(files.stat(effect.path)) : undefined;
  const real = await realPath;
  const looked = await (early ?? (real === undefined ? undefined : look(files.stat(real, { real: true }))));
  // If a link has changed in between, the policy looks it up again.
  const isKnown = real !== undefined && (looked?.info === undefined || looked.info.path === real);
  if (!isKnown || looked === undefined) return withReal(effect, real);
  found.set(real, looked.info);
  return { ...withReal(effect, real), ...(looked.info === undefined && { isNew: true }) };
}

/**
 * Resolves the folder of a command. The working directory is canonical and needs no round trip. If a link has replaced
 * it, `confine` refuses the command: the real folder is then not the approved folder.
 */
async function inFolder(effect: ExecEffect, backend: Backend): Promise<Effect> {
  const folder = effect.inPane === true ? await backend.terminal?.folder?.() : undefined;
  if (folder !== undefined) return { ...effect, cwd: folder, real: folder };
  return effect.cwd === undefined
    ? { ...effect, real: backend.workDir }
    : withReal(effect, await realPathOf(effect.cwd, backend.outside ?? backend.files));
}

type ExecEffect = Extract<Effect, { kind: "exec" }>;
type TerminalEffect = Extract<Effect, { kind: "terminal" }>;
type WriteEffect = Extract<Effect, { kind: "read" | "write" }>;
type PathEffect = Exclude<Extract<Effect, { readonly real?: string }>, TerminalEffect>;

/**
 * Sets `real`, or removes it when the path cannot be resolved (a circle of links, a NUL byte): then the policy reports
 * the problem, and nothing can be accessed through the path.
 */
function withReal({ real: _, ...effect }: PathEffect, real: string | undefined): Effect {
  return real === undefined ? effect : { ...effect, real };
}

function realPathOf(path: string, files: Files): Promise<string | undefined> {
  return files.realPath(path).catch((error: unknown) => {
    if (error instanceof Unreachable) throw error;
    return undefined;
  });
}

/**
 * Resolves a name such as "work" or "{last}" to the pane that it means now: the call is confined to that pane, also
 * when people switch panes later. Removes `real` when the name means no pane.
 */
async function atPane({ real: _, ...effect }: TerminalEffect, { terminal }: Backend): Promise<Effect> {
  const { pane } = effect;
  if (pane === undefined) return effect;
  if (PANE_ID.test(pane)) return { ...effect, real: pane };
  const meant = await terminal?.capture({ target: pane }).catch((error: unknown) => {
    if (error instanceof Unreachable) throw error;
    return undefined;
  });
  return meant === undefined ? effect : { ...effect, real: meant.pane };
}

/** The id of a pane. tmux never reuses one while its server runs. */
const PANE_ID = /^%\d+$/;

function hasReal(effect: Effect): boolean {
  if (effect.kind === "terminal") return effect.pane !== undefined || effect.real !== undefined;
  return effect.kind === "read" || effect.kind === "write" || effect.kind === "exec";
}
