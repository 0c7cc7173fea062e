import type { Backend } from "../contract/backend.ts";
import type { Needs, SandboxState } from "../contract/containment.ts";
import { type Decision, stricter } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import { absolutePath, isInside } from "../util/paths.ts";
import type { CommandJudge } from "./commands/judge.ts";
import type { LookUps } from "./look-ups.ts";
import { needsJudge, realNeeds, withMore } from "./needs.ts";
import type { PathJudge } from "./paths.ts";
import { protectedFile } from "./sensitive.ts";
import type { PolicySettings } from "./settings.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

/** Judges a command as it would be run: in its folder, in the sandbox or not. */
export type ExecJudge = (effect: Exec, judgePath: PathJudge, look: LookUps) => Promise<Decision>;

/**
 * A command is judged by its folder, its script, and what it asks the sandbox for. Where the sandbox is asked for and does not work, nothing
 * runs; where it would be there by default, that it is missing is said with every question it would have spared.
 */
export function execJudge(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[],
  judgeCommand: CommandJudge,
): ExecJudge {
  const judgeNeeds = needsJudge(settings, backend, own);

  return async (effect, judgePath, look) => {
    const { sandbox } = backend;
    const state = await sandbox?.state();
    const contained = state?.works === true && effect.within !== "none";
    const touched = watching(judgePath, backend, look);
    // The folder and the script at once: what they look up travels together.
    const [there, command] = await Promise.all([
      judgePath("cwd", effect.cwd ?? ".", effect.real),
      judgeCommand(effect, { judgePath: touched.judgePath, look, contained }),
    ]);
    if (there.verdict === "deny") return there;
    const decision = (there.verdict === "allow" ? undefined : stricter(command, there)) ?? command;
    if (sandbox === undefined || state === undefined) return decision;
    if (!state.works) return sandbox.required ? noSandbox(state) : withoutSandbox(decision);
    const all = stricter(decision, await judgeNeeds(effect, look)) ?? decision;
    if (!contained) return { ...outside(all), within: "none" };
    const asked = await realNeeds(effect.within, backend, look);
    return { ...inside(all), within: withMore(asked, await withConfiguration(touched.needs(), all, backend, look)) };
  };
}

/**
 * The path rules, with what of it a contained command could not touch by itself: where it is allowed in the end, by a rule or a person, the
 * sandbox lets it through too. Without a sandbox that is nothing.
 */
function watching(judgePath: PathJudge, backend: Backend, look: LookUps) {
  const { workDir, sandbox } = backend;
  const read = new Set<string>();
  const write = new Set<string>();
  const watched: PathJudge = async (operation, written, real) => {
    const decision = await judgePath(operation, written, real);
    if (sandbox === undefined || operation === "cwd" || decision.verdict === "deny") return decision;
    const target = real ?? (await look.realPath(absolutePath(written, backend)));
    if (target instanceof Error) return decision;
    if (sandbox.hidden.some((hidden) => isInside(target, hidden))) read.add(target);
    if (operation === "read" || decision.rule === "workspace" || decision.rule === "allowed_roots") return decision;
    const isKept = () => protectedFile(target) ?? protectedFile(absolutePath(written, backend));
    if (!isInside(target, workDir) || isKept() !== undefined) write.add(target);
    return decision;
  };
  return { judgePath: watched, needs: (): Needs => ({ read: [...read], write: [...write] }) };
}

/**
 * A git command that somebody is asked about may change the repository's configuration: that is what it is asked about for. One that a link leads
 * to has to be named itself.
 */
async function withConfiguration(
  needs: Needs,
  { parts = [] }: Decision,
  { workDir }: Backend,
  look: LookUps,
): Promise<Needs> {
  if (!parts.some(({ verdict, text }) => verdict === "ask" && /^git\s/.test(text))) return needs;
  const path = `${workDir}/.git/config`;
  return (await look.realPath(path)) === path ? { ...needs, write: [...(needs.write ?? []), path] } : needs;
}

/** Leave to run a command in the sandbox is none to run it where the sandbox does not work. */
function inside(decision: Decision): Decision {
  if (decision.scopes === undefined) return decision;
  const scopes = decision.scopes.map(({ key, ...rest }) => ({
    ...rest,
    key: key.startsWith('["sandbox"') ? key : `inside ${key}`,
  }));
  return { ...decision, scopes };
}

/** Leave to run a command in the sandbox is none to run it outside. */
function outside(decision: Decision): Decision {
  if (decision.scopes === undefined) return decision;
  const scopes = decision.scopes.map(({ label, key, ...rest }) =>
    key.startsWith('["sandbox"')
      ? { label, key, ...rest }
      : { ...rest, label: `${label} (outside the sandbox)`, key: `outside ${key}` },
  );
  return { ...decision, scopes };
}

function noSandbox({ reason, fix }: Extract<SandboxState, { works: false }>): Decision {
  return {
    verdict: "deny",
    risk: "high",
    rule: "sandbox",
    reason: `Commands run in the sandbox only, and it does not work here: ${reason} ${fix}`,
  };
}

function withoutSandbox(decision: Decision): Decision {
  if (decision.verdict !== "ask" || !SPARED.has(decision.rule)) return decision;
  return {
    ...decision,
    reason: `${decision.reason ?? ""}; no sandbox contains it here (\`handrail doctor\` says why)`,
  };
}

/** What the sandbox would have spared people. */
const SPARED: ReadonlySet<string | undefined> = new Set(["require_approval_for_medium_risk", "not_understood"]);
