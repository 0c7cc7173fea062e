import type { Backend } from "../core/contract/backend.ts";
import type { Decision } from "../core/contract/decision.ts";
import type { Effect } from "../core/contract/effect.ts";
import { type ExecJudge, type GivenToJudge, execJudge } from "./exec.ts";
import type { PolicySettings } from "./policy-settings.ts";
import type { Rules } from "./rules/rules.ts";
import { terminalJudge } from "./typing.ts";

/** What judges commands, run or typed. */
export interface CommandJudges {
  readonly judgeExec: ExecJudge;
  judgeTerminal(effect: Extract<Effect, { kind: "terminal" }>, given: GivenToJudge): Promise<Decision>;
}

/** Creates the judges of commands. They know the shell grammar, which is loaded with this file. */
export function createCommandJudges(
  settings: PolicySettings,
  backend: Backend,
  own: readonly string[],
  rules: Rules["command"],
): CommandJudges {
  const judgeExec = execJudge(settings, backend, own, rules);
  const judgeLeniently = execJudge({ ...settings, blockHighRiskCommands: false }, backend, own, rules);
  const denied = (settings.commands?.deny ?? []).map((rule) => (typeof rule === "string" ? rule : rule.rule));
  const judgeTyping = terminalJudge({ autonomy: settings.autonomy ?? "supervised", backend, denied });
  return {
    judgeExec,
    judgeTerminal: (effect, given) =>
      judgeTyping(effect, (command, strictness) =>
        (strictness === "strict" ? judgeExec : judgeLeniently)(command, { ...given, typed: true }),
      ),
  };
}
