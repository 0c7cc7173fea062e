import type { Decision, DecisionPart, Risk, Scope } from "../../core/contract/decision.ts";
import type { Effect } from "../../core/contract/effect.ts";
import type { PlainVerdict } from "../plain/judge.ts";
import type { PolicySettings } from "../policy-settings.ts";
import type { FoundScript } from "./find-commands.ts";
import { highRisk, shorten } from "./command-decision.ts";

export interface Part {
  readonly text: string;
  readonly words: readonly string[];
  /** The folder in which the command runs; `undefined`: known only when it runs. */
  readonly folder: string | undefined;
  /** Whether the command is one of a script that can be rewritten. */
  readonly isOwn: boolean;
  /** What grants of the command are bound to besides its words (`fixedBy`). `undefined`: to files of the workspace. */
  readonly fixedBy: string | undefined;
  readonly decision: Decision;
}

/** Facts about the whole script: what is not understood and what was not checked. */
interface Whole extends Pick<FoundScript, "unclear" | "unread" | "tooLong"> {
  readonly effect: Extract<Effect, { kind: "exec" }>;
  /** The script of the effect without blanks around it. */
  readonly command: string;
  readonly folder: string;
  readonly contained: boolean;
  readonly typed: boolean;
  readonly settings: PolicySettings;
  /** Why the script cannot be rewritten; `undefined`: it can be. */
  readonly problem: string | undefined;
  /** Why the script is never run, if not because of a command: a variable that it sets, a device that it writes to. */
  readonly refusal: { readonly text: string; readonly why: string } | undefined;
  /** The path rules' objection to what the redirections open. */
  readonly redirected: Decision | undefined;
  /** `undefined` if nobody checked whether the script is plain. */
  readonly plain: PlainVerdict | undefined;
}

/** The strictest part decides; among equals, the riskiest. A script that is not plain is granted only as a whole. */
export function decideScript(parts: readonly Part[], whole: Whole): Decision {
  const { contained, settings, effect, plain, folder } = whole;
  const all = [...notUnderstood(whole), ...parts.map(({ decision }) => decision), ...decisionsOnWhole(whole)];
  const [decision = RUNS] = all.toSorted((one, other) => weight(other) - weight(one));
  const onlyLooks = plain?.plain === true && plain.looks;
  if (settings.autonomy === "readonly" && !contained && decision.verdict !== "deny" && !onlyLooks) return READ_ONLY;
  const [risk = "low"] = all
    .map((each) => each.risk)
    .toSorted((one, other) => RISKS.indexOf(other) - RISKS.indexOf(one));
  const shown = parts.map(({ text, decision: { scopes: _, ...rest } }): DecisionPart => ({ ...rest, text }));
  return {
    ...decision,
    risk,
    ...(shown.length > 0 && { parts: shown }),
    ...(decision.verdict === "ask" && { scopes: scopesOf(parts, whole) }),
    ...(plain?.run !== undefined && { runs: [{ ...plain.run, command: effect.command, folder }] }),
  };
}

const RUNS: Decision = { verdict: "allow", risk: "low", rule: "low_risk" };
const READ_ONLY: Decision = {
  verdict: "deny",
  risk: "medium",
  rule: "autonomy",
  reason: "Read-only mode: cannot perform 'run a command'",
};

/** The question about what is not understood, at every autonomy. None in the sandbox if no rule may be about it. */
function notUnderstood(whole: Whole): readonly Decision[] {
  const { command, contained, typed, settings, tooLong, unclear, unread } = whole;
  const { deny = [], ask = [], only = [] } = settings.commands ?? {};
  const isLeft = typed || (contained && deny.length + ask.length + only.length === 0);
  const isHidden = settings.autonomy === "full" && !contained && !typed;
  const why = tooLong ?? (isLeft ? undefined : unclear[0]) ?? (isHidden ? unread[0] : undefined);
  if (why === undefined) return [];
  const reason = `Command requires approval: \`${shorten(command)}\` is not fully understood: ${why}`;
  return [{ verdict: "ask", risk: "medium", rule: "not_understood", reason }];
}

function decisionsOnWhole(whole: Whole): readonly Decision[] {
  const { effect, command, contained, typed, settings, problem, refusal, redirected } = whole;
  const { autonomy, askInSandbox = "nothing", blockHighRiskCommands = true, wholeMachine = false } = settings;
  const isFull = autonomy === "full";
  const found: Decision[] = redirected === undefined ? [] : [redirected];
  if (refusal !== undefined && (blockHighRiskCommands || !isFull))
    found.push(highRisk(refusal, blockHighRiskCommands && !wholeMachine));
  const ask = (rule: string, risk: Risk, why: string) =>
    found.push({ verdict: "ask", risk, rule, reason: `Command requires approval: \`${shorten(command)}\` ${why}` });
  if (effect.lifetime === "detached" && !isFull)
    ask("detached", "medium", "continues in the background after this session");
  const isLeft = isFull || typed || (contained && askInSandbox === "nothing");
  if (problem !== undefined && !isLeft) ask("not_plain", "low", `is not plain: ${problem}`);
  return found;
}

const VERDICTS = { allow: 0, ask: 1, deny: 2 } as const;
const RISKS: readonly Risk[] = ["low", "medium", "high"];

function weight({ verdict, risk }: Decision): number {
  return VERDICTS[verdict] * 10 + RISKS.indexOf(risk);
}

/**
 * A scope for each command that is asked about, if the question is only about commands; else one for the whole script.
 */
function scopesOf(parts: readonly Part[], whole: Whole): readonly Scope[] {
  const { command, folder, problem, unclear, redirected } = whole;
  const asked = parts.filter(({ decision: { verdict } }) => verdict === "ask");
  const isByCommand = asked.length > 0 && asked.every(({ isOwn }) => isOwn);
  if (isByCommand && problem === undefined && unclear.length === 0) return asked.map((part) => scopeOf(part, whole));
  const decision = {
    scopes: [...asked.map((part) => part.decision), redirected].flatMap((each) => each?.scopes ?? []),
  };
  return [scopeOf({ text: command, words: [command], folder, fixedBy: undefined, decision }, whole)];
}

/** The scope is bound to the exact words, the folder, the variables, and whether the command outlives the call. */
function scopeOf(
  { text, words, folder = "?", fixedBy, decision }: ScopedPart,
  { effect: { env = {}, lifetime = "call" }, contained }: Whole,
): Scope {
  const variables = Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const binding = fixedBy === undefined || fixedBy === "" ? [] : [fixedBy];
  const key = JSON.stringify(["exec", words, text, folder, variables, lifetime, ...binding]);
  const label = text + (binding.length > 0 ? " (while git's settings here stay as they are)" : "");
  const session = fixedBy !== undefined || contained ? {} : ({ upTo: "session" } as const);
  return { label, key, ...session, ...limitsOf(decision) };
}

interface ScopedPart extends Pick<Part, "text" | "words" | "folder" | "fixedBy"> {
  readonly decision: Pick<Decision, "scopes">;
}

/** The limits of the files that are asked about. */
function limitsOf({ scopes = [] }: Pick<Decision, "scopes">): Pick<Scope, "upTo" | "onlyPerson"> {
  return {
    ...(scopes.some(({ upTo }) => upTo === "once") && { upTo: "once" as const }),
    ...(scopes.some(({ onlyPerson }) => onlyPerson === true) && { onlyPerson: true }),
  };
}
