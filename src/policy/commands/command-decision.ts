import type { Decision, Risk } from "../../core/contract/decision.ts";
import type { Ruling } from "../rules/rules.ts";
import type { PolicySettings } from "../policy-settings.ts";
import { REMOTE } from "./programs.ts";
import { isHeldByKernel, riskOf, throwsAway } from "./risk.ts";
import type { FoundCommand } from "./search.ts";

/** What is known about one command, besides its words. */
export interface CommandFacts {
  readonly ruling: Ruling | undefined;
  readonly refusal: { readonly why: string; readonly answersForPerson?: true } | undefined;
  /** The decision of the path rules on the files that the command names. */
  readonly named: Decision | undefined;
  /** Why the command is not plain although its script can be rewritten. */
  readonly problem: string | undefined;
  readonly isPlain: boolean;
  readonly contained: boolean;
}

/** Decides about one command: by rules, then risk, then autonomy. Only a deny rule comes before the path rules. */
export function decideCommand(command: FoundCommand, facts: CommandFacts, settings: PolicySettings): Decision {
  const { ruling, refusal, named, problem, isPlain, contained } = facts;
  const { autonomy = "supervised", blockHighRiskCommands = true, askInSandbox = "nothing" } = settings;
  const { requireApprovalForMediumRisk = true, shellConfirm = false, wholeMachine = false } = settings;
  const { text } = command;
  const own = isPlain ? undefined : riskOf(command);
  const risk: Risk = refusal === undefined ? (own?.risk ?? "low") : "high";
  const why = refusal?.why ?? own?.why;
  const shown = shorten(text);
  const allow = (rule: string): Decision => ({ verdict: "allow", risk, rule });
  const ask = (rule: string, reason: string): Decision => ({ verdict: "ask", risk, rule, reason });
  if (refusal?.answersForPerson) return { verdict: "deny", risk, rule: "answers_for_person", reason: FOR_PERSON };
  if (ruling?.verdict === "deny") return { ...ruling, risk };
  // A person decides about their own machines: asked about in every autonomy, never refused.
  const isPersons = why === REMOTE || (wholeMachine && autonomy !== "readonly");
  const isForPerson = risk === "high" && blockHighRiskCommands && isPersons;
  const isBlocked = risk === "high" && blockHighRiskCommands && !isForPerson && !(contained && isHeldByKernel(why));
  const isAskedAnyway = (isBlocked || isForPerson) && named?.verdict === "ask" && ruling === undefined;
  if (named !== undefined && !isAskedAnyway) return { ...named, reason: `${named.reason ?? ""} (\`${shown}\`)` };
  if (ruling?.verdict === "ask" || (ruling !== undefined && !shellConfirm)) return { ...ruling, risk };
  if (isBlocked) return highRisk({ text, why }, true);
  if (isForPerson)
    return { ...highRisk({ text, why }, false), ...(named?.scopes !== undefined && { scopes: named.scopes }) };
  if (shellConfirm)
    return ask("shell_confirm", `Command requires approval: every command is asked about (\`${shown}\`)`);
  const lost = contained ? throwsAway(command) : undefined;
  if (lost !== undefined && autonomy !== "full")
    return ask("throws_work_away", `Command requires approval: \`${shown}\` cannot be taken back: ${lost}`);
  const held = contained ? `${why ?? ""}; in the sandbox it can do no more than other commands` : why;
  if (risk === "high" && autonomy !== "full") return highRisk({ text, why: held }, false);
  if (contained && askInSandbox === "nothing") return allow("sandbox");
  if (isPlain) return { verdict: "allow", risk: "low", rule: "plain" };
  if (autonomy === "full") return allow("autonomy");
  const mediumRule = "require_approval_for_medium_risk";
  if (!requireApprovalForMediumRisk) return allow(mediumRule);
  if (risk === "medium") return ask(mediumRule, `Medium-risk command requires approval: \`${shown}\` (${why ?? ""})`);
  if (problem !== undefined)
    return ask("not_plain", `Command requires approval: \`${shown}\` is not plain: ${problem}`);
  return allow(risk === "low" ? "low_risk" : mediumRule);
}

/** Decides about a command of high risk: it is refused if high risk is blocked, otherwise asked about. */
export function highRisk(
  { text, why = "" }: { readonly text: string; readonly why: string | undefined },
  isBlocked: boolean,
): Decision {
  const shown = `\`${shorten(text)}\` (${why})`;
  const asked = `High-risk command requires approval: ${shown}`;
  if (!isBlocked) return { verdict: "ask", risk: "high", rule: "high_risk", reason: asked };
  const advice = "Leave it out, or have the user add it to policy.commands.allow";
  const reason = `High-risk commands are blocked: ${shown}. ${advice}`;
  return { verdict: "deny", risk: "high", rule: "block_high_risk_commands", reason };
}

const FOR_PERSON =
  "A command cannot answer for a person: approvals, trust, grants and the console are for people, " +
  "who start them themselves";

export function shorten(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 80)} … ${text.slice(-35)}`;
}
