import type { Backend } from "../contract/backend.ts";
import type { SandboxState } from "../contract/containment.ts";
import { type Decision, stricter } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import { type CommandJudge, createCommandJudge } from "./commands/judge.ts";
import type { LookUps } from "./look-ups.ts";
import { beforeApproval, needsJudge, realNeeds, withMore } from "./needs.ts";
import type { PathJudge } from "./paths.ts";
import type { Rules } from "./rules/rules.ts";
import { withScopes } from "./scopes.ts";
import type { PolicySettings } from "./settings.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

export type ExecJudge = (effect: Exec, given: GivenToJudge) => Promise<Decision>;

export interface GivenToJudge {
  readonly judgePath: PathJudge;
  /** The path rules for what a contained command names: what the user forbids, and no default list. */
  readonly judgeContained: PathJudge;
  readonly look: LookUps;
  /** It is typed into a terminal. Default false. */
  readonly typed?: boolean;
}

/**
 * A command is judged by its folder, its script, and what it asks the sandbox for. Where the sandbox is required and
 * does not work, nothing runs. Where it would be there by default, each question says that it is missing.
 */
export function execJudge(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[],
  rules: Rules["command"],
): ExecJudge {
  const { sandbox } = backend;
  const { autonomy = "supervised" } = settings;
  const judgeNeeds = needsJudge(settings, backend, own);
  const judgeCommand: CommandJudge = createCommandJudge(settings, backend, rules);

  return async (effect, { judgePath, judgeContained, look, typed = false }) => {
    const state = await sandbox?.state();
    const contained = state?.works === true && effect.within !== "none";
    // The folder and the script at once: what they look up travels together.
    const [folder, { decision: command, needs }] = await Promise.all([
      judgePath("cwd", effect.cwd ?? ".", effect.real),
      judgeCommand(effect, { judgePath: contained ? judgeContained : judgePath, look, contained, typed }),
    ]);
    if (folder.verdict === "deny") return folder;
    const decision = (folder.verdict === "allow" ? undefined : stricter(command, folder)) ?? command;
    if (sandbox === undefined || state === undefined) return decision;
    if (!state.works) return sandbox.required ? noSandbox(state) : withoutSandbox(decision);
    const all = stricter(decision, await judgeNeeds(effect, look)) ?? decision;
    if (!contained) return { ...bound(all, "outside"), within: "none" };
    const more = autonomy === "readonly" ? { ...needs, readOnly: true } : needs;
    return {
      ...bound(all, "inside"),
      within: beforeApproval(withMore(await realNeeds(effect.within, backend, look), more)),
    };
  };
}

/** An approval inside the sandbox is none outside it, and the other way round. What opens the sandbox is neither. */
function bound(decision: Decision, where: "inside" | "outside"): Decision {
  return withScopes(decision, ({ label, key, ...rest }) => {
    if (key.startsWith('["sandbox"')) return { ...rest, label, key };
    const shown = where === "outside" ? `${label} (outside the sandbox)` : label;
    return { ...rest, label: shown, key: `${where} ${key}` };
  });
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

const SPARED: ReadonlySet<string | undefined> = new Set(["require_approval_for_medium_risk", "not_plain"]);
