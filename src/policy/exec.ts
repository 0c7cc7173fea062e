import type { Backend } from "../core/contract/backend.ts";
import type { SandboxState } from "../core/contract/containment.ts";
import { type Decision, stricter } from "../core/contract/decision.ts";
import type { Effect } from "../core/contract/effect.ts";
import { type CommandJudge, createCommandJudge } from "./commands/judge.ts";
import { findCommands } from "./commands/find-commands.ts";
import { worksElsewhere } from "./commands/risk.ts";
import { nameOf } from "./commands/search.ts";
import type { LookUps } from "./look-ups.ts";
import { looksAtMachine } from "./plain/programs.ts";
import { beforeApproval, sandboxRequestJudge, realNeeds, withMore } from "./sandbox-requests.ts";
import type { PathJudge } from "./paths.ts";
import type { Rules } from "./rules/rules.ts";
import { longestGrant, withScopes } from "./scopes.ts";
import type { PolicySettings } from "./policy-settings.ts";

type Exec = Extract<Effect, { kind: "exec" }>;

export type ExecJudge = (effect: Exec, given: GivenToJudge) => Promise<Decision>;

export interface GivenToJudge {
  readonly judgePath: PathJudge;
  /** The path rules for paths that a contained command names: what the user forbids, without the default list. */
  readonly judgeContained: PathJudge;
  readonly look: LookUps;
  /** Whether the command is typed into a terminal. Default: false. */
  readonly typed?: boolean;
}

/**
 * Judges a command by its folder, its script, and what it asks the sandbox for. Without a working sandbox, nothing runs
 * if the sandbox is required, and otherwise each question reports it, the first one with the reason and the fix.
 */
export function execJudge(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[],
  rules: Rules["command"],
): ExecJudge {
  const { sandbox } = backend;
  const { autonomy = "supervised", wholeMachine = false } = settings;
  const judgeSandboxRequest = sandboxRequestJudge(settings, backend, own);
  const judgeCommand: CommandJudge = createCommandJudge(settings, backend, rules);

  let isExplained = false;
  /** The decision where the sandbox does not work. The first question has the reason and the fix. */
  const withoutSandbox = (decision: Decision, { reason, fix }: Extract<SandboxState, { works: false }>): Decision => {
    if (decision.verdict !== "ask" || !SPARED.has(decision.rule)) return decision;
    const why = isExplained ? " (`handrail doctor` shows why)" : `. ${reason} ${fix}`;
    isExplained = true;
    return { ...decision, reason: `${decision.reason ?? ""}; there is no sandbox here${why}` };
  };

  /**
   * How a command is about the machine itself, of which the sandbox shows only a part and changes nothing: it only
   * looks, or a person decides about it. `undefined`: it is not.
   */
  const concernOf = async (effect: Exec, given: Pick<GivenToJudge, "judgePath" | "look"> & { typed: boolean }) => {
    const { decision } = await judgeCommand(effect, { ...given, contained: false });
    if (decision.verdict === "ask" && decision.rule === "high_risk") return "changes";
    const isPlain =
      decision.verdict !== "deny" &&
      decision.runs?.some((run) => "argv" in run) === true &&
      decision.parts?.every(({ rule }) => OF_LIST.has(rule)) === true;
    const { commands } = findCommands(effect.command, backend);
    return isPlain && commands.some((each) => looksAtMachine(nameOf(each))) ? "looks" : undefined;
  };

  return async (asked, { judgePath, judgeContained, look, typed = false }) => {
    const state = await sandbox?.state();
    const works = state?.works === true;
    const concern = works && wholeMachine ? await concernOf(asked, { judgePath, look, typed }) : undefined;
    const leaves = works && (concern !== undefined || worksElsewhere(asked.command, backend.home));
    const effect: Exec = leaves ? { ...asked, within: "none" } : asked;
    const isDetached = effect.lifetime === "detached" && sandbox?.lacks?.what.includes("detached") === true;
    const contained = works && effect.within !== "none" && !isDetached;
    // Both are requested at once, so that their look-ups share a round trip.
    const [folder, { decision: command, needs }] = await Promise.all([
      judgePath("cwd", effect.cwd ?? ".", effect.real),
      judgeCommand(effect, { judgePath: contained ? judgeContained : judgePath, look, contained, typed }),
    ]);
    if (folder.verdict === "deny") return folder;
    const decision = (folder.verdict === "allow" ? undefined : stricter(command, folder)) ?? command;
    if (sandbox === undefined || state === undefined) return decision;
    if (!state.works) return sandbox.required ? noSandbox(state) : withoutSandbox(decision, state);
    const requested = concern === "looks" ? undefined : await judgeSandboxRequest(effect, look);
    // Leaving the sandbox is granted for as long as the command itself.
    const isLasting = decision.verdict === "ask" ? longestGrant(decision) === "always" : decision.rule === "plain";
    const request =
      requested === undefined || contained || isLasting
        ? requested
        : withScopes(requested, (scope) => ({ upTo: "session", ...scope }));
    const all = stricter(decision, request) ?? decision;
    if (!contained) return { ...bound(all, "outside"), within: "none" };
    const more = autonomy === "readonly" ? { ...needs, readOnly: true } : needs;
    return {
      ...bound(all, "inside"),
      within: beforeApproval(withMore(await realNeeds(effect.within, backend, look), more)),
    };
  };
}

/**
 * Binds grants to where the command runs: an approval inside the sandbox does not count outside, and an approval
 * outside does not count inside. Scopes that open the sandbox are not bound.
 */
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
    reason: `Commands run only in the sandbox, which does not work here: ${reason} ${fix}`,
  };
}

/** The rules of plain commands that are on the list. What only a user's rule allows does not leave the sandbox by it. */
const OF_LIST: ReadonlySet<string | undefined> = new Set(["plain", "shell_confirm", "low_risk"]);

const SPARED: ReadonlySet<string | undefined> = new Set(["require_approval_for_medium_risk", "not_plain"]);
