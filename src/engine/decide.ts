import type { Backend, FileInfo, Files } from "../contract/backend.ts";
import type { CheckedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";
import { Unreachable } from "../contract/failure.ts";
import { type Decision, type Verdict, stricter } from "../contract/decision.ts";
import type { Policy } from "../contract/policy.ts";
import { messageOf } from "../util/errors.ts";
import type { Host } from "./host.ts";

/**
 * What the policies say of a call, the strictest first. A call that touches nothing needs no word; any other that nobody judges is
 * asked about. A policy that throws counts as a denial: what cannot be judged does not run.
 *
 * The real path of everything the call names, and the pane, is looked up here, once, and comes back in its effects: the policies judge it and
 * `confine` holds the tool to it, so a link that changes in between leads nowhere.
 *
 * @throws Unreachable when there is no way to where work happens: then nothing can be judged, and nothing is denied.
 */
export async function decide(
  checked: CheckedCall,
  { policies, backend }: Pick<Host, "policies" | "backend">,
): Promise<{ call: CheckedCall; decision: Decision }> {
  const call = await withRealPaths(checked, backend);
  let strictest: Decision | undefined;
  for (const policy of policies) strictest = stricter(strictest, await judge(policy, call));
  return { call, decision: strictest ?? (call.effects.length === 0 ? NOTHING_TOUCHED : NOBODY_DECIDED) };
}

const NOTHING_TOUCHED: Decision = { verdict: "allow", risk: "low", rule: "no_effect" };
const NOBODY_DECIDED: Decision = {
  verdict: "ask",
  risk: "medium",
  rule: "default",
  reason: "This call requires approval: no rule allows it",
};

async function judge(policy: Policy, call: CheckedCall): Promise<Decision | undefined> {
  try {
    const decision = await policy(call);
    if (decision === undefined || VERDICTS.has(decision.verdict)) return decision;
    return denied(
      `it answered ${JSON.stringify(decision)} instead of a decision with the verdict "allow", "ask" or "deny"`,
    );
  } catch (error) {
    if (error instanceof Unreachable) throw error;
    return denied(messageOf(error));
  }
}

// A program without types may answer anything; a word we do not know must not count as leave.
const VERDICTS: ReadonlySet<unknown> = new Set<Verdict>(["allow", "ask", "deny"]);

function denied(why: string): Decision {
  return { verdict: "deny", risk: "high", rule: "error", reason: `The policy could not judge this call: ${why}` };
}

async function withRealPaths(call: CheckedCall, backend: Backend): Promise<CheckedCall> {
  if (!call.effects.some(hasReal)) return call;
  const found = new Map<string, FileInfo | undefined>();
  const known = new Map<string, Promise<string | undefined>>(); // an edit reads and writes one path
  const realPath = (path: string) => {
    const real = known.get(path) ?? realPathOf(path, backend.files);
    known.set(path, real);
    return real;
  };
  const effects = await Promise.all(
    call.effects.map(async (effect): Promise<Effect> => {
      if (effect.kind === "exec") return inFolder(effect, backend);
      if (effect.kind === "read") return withReal(effect, await realPath(effect.path));
      if (effect.kind === "write") return withFound(effect, realPath(effect.path), found, backend.files);
      if (effect.kind === "terminal") return atPane(effect, backend);
      return effect;
    }),
  );
  return { ...call, effects, found };
}

/** What is there is asked for at the same time: the policy wants to know it of what is written to. */
async function withFound(
  effect: PathEffect & { readonly path: string },
  realPath: Promise<string | undefined>,
  found: Map<string, FileInfo | undefined>,
  files: Files,
): Promise<Effect> {
  const looking = files.stat(effect.path).then(
    (info) => ({ info }),
    () => undefined,
  );
  const [real, looked] = [await realPath, await looking];
  // Where a link has changed in between, the policy looks again.
  if (real !== undefined && looked !== undefined && (looked.info === undefined || looked.info.path === real))
    found.set(real, looked.info);
  return withReal(effect, real);
}

/**
 * The working directory is canonical, so it is not looked up: judging a command costs no round trip for that. Should a link have taken its
 * place, `confine` does not find the command's folder among those that were approved.
 */
async function inFolder(effect: ExecEffect, backend: Backend): Promise<Effect> {
  return effect.cwd === undefined
    ? { ...effect, real: backend.workDir }
    : withReal(effect, await realPathOf(effect.cwd, backend.outside ?? backend.files));
}

type ExecEffect = Extract<Effect, { kind: "exec" }>;
type TerminalEffect = Extract<Effect, { kind: "terminal" }>;
type PathEffect = Exclude<Extract<Effect, { readonly real?: string }>, TerminalEffect>;

/**
 * Where a path cannot be followed (a circle of links, a NUL byte) `real` is left out, whatever the tool wrote there: the policy
 * says what is wrong with the path, and nothing can be touched through it.
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
 * A name such as "work" or "{last}" means another pane when somebody goes on to one: the call is held to the one it means now. `real` is left out where
 * it means none.
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

/** As tmux numbers panes: each for as long as its server lives. */
const PANE_ID = /^%\d+$/;

function hasReal(effect: Effect): boolean {
  if (effect.kind === "terminal") return effect.pane !== undefined || effect.real !== undefined;
  return effect.kind === "read" || effect.kind === "write" || effect.kind === "exec";
}
