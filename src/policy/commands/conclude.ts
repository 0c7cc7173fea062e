import type { Decision, DecisionPart, Risk, Scope } from "../../contract/decision.ts";
import type { Effect } from "../../contract/effect.ts";
import type { PlainVerdict } from "../plain/judge.ts";
import type { PolicySettings } from "../settings.ts";
import { highRisk, shorten } from "./weigh.ts";

/** One command of a script with what is said of it. */
export interface Part {
  readonly text: string;
  readonly words: readonly string[];
  /** Where it runs; `undefined`: known only when it runs. */
  readonly folder: string | undefined;
  /** It is one of the commands of a script that can be written anew. */
  readonly isOwn: boolean;
  /** It runs the project's own code. */
  readonly project: boolean;
  readonly decision: Decision;
}

/** Something that is never run, as it is written. */
interface Refused {
  readonly text: string;
  readonly why: string;
}

/** The script as a whole. */
interface Whole {
  readonly effect: Extract<Effect, { kind: "exec" }>;
  /** The script of the effect without blanks around it. */
  readonly command: string;
  /** Where it runs. */
  readonly folder: string;
  readonly contained: boolean;
  readonly typed: boolean;
  readonly settings: PolicySettings;
  /** What of it is not understood. */
  readonly unclear: readonly string[];
  /** Why a part of it was not looked at; `undefined`: all of it was. */
  readonly tooLong: string | undefined;
  /** Why it cannot be written anew; `undefined`: it can. */
  readonly problem: string | undefined;
  /** Why it is never run, where that is no command's: a variable that it sets, a device that a redirection writes to. */
  readonly refusal: Refused | undefined;
  /** What the path rules say against what redirections open. */
  readonly redirected: Decision | undefined;
  /** `undefined`: nobody looked whether it is plain. */
  readonly plain: PlainVerdict | undefined;
}

/**
 * The strictest part decides, of equals the riskiest; with what was said of each part, and what a person can allow for longer. A script that
 * cannot be written anew is allowed as a whole only.
 */
export function conclude(parts: readonly Part[], whole: Whole): Decision {
  const { contained, settings, effect, plain } = whole;
  const { autonomy = "supervised" } = settings;
  const all = [...notUnderstood(whole), ...parts.map(({ decision }) => decision), ...decisionsOnWhole(whole)];
  const [strictest] = all.toSorted((one, other) => weight(other) - weight(one));
  if (
    autonomy === "readonly" &&
    !contained &&
    strictest?.verdict !== "deny" &&
    !(plain?.plain === true && plain.looks)
  ) {
    return { verdict: "deny", risk: "medium", rule: "autonomy", reason: READ_ONLY };
  }
  const decision: Decision = strictest ?? { verdict: "allow", risk: "low", rule: "low_risk" };
  const risk = all.reduce<Risk>(
    (most, each) => (RISKS.indexOf(each.risk) > RISKS.indexOf(most) ? each.risk : most),
    "low",
  );
  const shown = parts.map(({ text, decision: said }): DecisionPart => ({ ...said, text }));
  return {
    ...decision,
    risk,
    ...(shown.length > 0 && { parts: shown }),
    ...(decision.verdict === "ask" && { scopes: scopesOf(parts, whole) }),
    ...(plain?.run !== undefined && {
      runs: [{ ...plain.run, command: effect.command, folder: whole.folder }],
    }),
  };
}

/**
 * Asked about in every autonomy. What was looked at whole and is not understood is left to the sandbox, where there are no rules that may be about
 * what nobody sees.
 */
function notUnderstood({ command, contained, typed, settings, tooLong, unclear: [why] }: Whole): readonly Decision[] {
  const { deny = [], ask = [], only = [] } = settings.commands ?? {};
  const isLeft = contained && deny.length + ask.length + only.length === 0;
  if (why === undefined || (tooLong === undefined && (typed || isLeft))) return [];
  const reason = `Command requires approval: \`${shorten(command)}\` is not understood as a whole: ${why}`;
  return [{ verdict: "ask", risk: "medium", rule: "not_understood", reason }];
}

const READ_ONLY = "Read-only mode: cannot perform 'run a command'";

/** What else is said of the script beyond its commands. */
function decisionsOnWhole({
  effect,
  command,
  contained,
  typed,
  settings,
  problem,
  refusal,
  redirected,
}: Whole): readonly Decision[] {
  const { autonomy = "supervised", askInSandbox = "nothing", blockHighRiskCommands = true } = settings;
  const found: Decision[] = redirected === undefined ? [] : [redirected];
  if (refusal !== undefined && (blockHighRiskCommands || autonomy !== "full"))
    found.push(highRisk(refusal, blockHighRiskCommands));
  const shown = shorten(command);
  const ask = (rule: string, risk: Risk, reason: string) => found.push({ verdict: "ask", risk, rule, reason });
  if (effect.background === "detached" && autonomy !== "full") {
    ask("detached", "medium", `Command requires approval: \`${shown}\` goes on in the background after this session`);
  }
  const isLeft = autonomy === "full" || (contained && askInSandbox === "nothing");
  if (problem !== undefined && !isLeft && !typed) {
    ask("not_plain", "low", `Command requires approval: \`${shown}\` is not plain: ${problem}`);
  }
  return found;
}

const VERDICTS = { allow: 0, ask: 1, deny: 2 } as const;
const RISKS: readonly Risk[] = ["low", "medium", "high"];

function weight({ verdict, risk }: Decision): number {
  return VERDICTS[verdict] * 10 + RISKS.indexOf(risk);
}

/** Each command that was asked about by itself, if all of what is asked about is such; else the whole script. */
function scopesOf(parts: readonly Part[], whole: Whole): readonly Scope[] {
  const asked = parts.filter(({ decision: { verdict } }) => verdict === "ask");
  const isByCommand =
    asked.length > 0 && asked.every(({ isOwn }) => isOwn) && whole.problem === undefined && whole.unclear.length === 0;
  const { command } = whole;
  const project = parts.some((part) => part.project);
  return isByCommand
    ? asked.map((part) => scopeOf(part, whole))
    : [scopeOf({ text: command, words: [command], folder: whole.folder, project }, whole)];
}

/** Bound to the exact words, the folder, the variables it gets, and whether it outlives the call. */
function scopeOf(
  { text, words, folder = "?", project }: Pick<Part, "text" | "words" | "folder" | "project">,
  { effect: { env = {}, background }, contained }: Whole,
): Scope {
  const variables = Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const key = JSON.stringify(["exec", words, text, folder, variables, background ?? ""]);
  // What the project holds tomorrow is not what a person sees today.
  return project && !contained
    ? { label: `${text} (whatever the project then contains)`, key, upTo: "session" }
    : { label: text, key };
}
