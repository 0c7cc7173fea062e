import type { Approval, Decision } from "../core/contract/decision.ts";
import type { Approver } from "../core/contract/policy.ts";
import type { Json, JsonSchema } from "../core/contract/schema.ts";
import { oneLine } from "../core/output/terminal-text.ts";
import { type Described, describeCall, foldedCall } from "../policy/describe.ts";
import { fieldText, formFields } from "../policy/form-fields.ts";
import { isForPerson, isWholeCall, longestGrant } from "../policy/scopes.ts";
import {
  type RunAtQuestion,
  type TerminalAnswer,
  type TerminalChoices,
  askOnTerminal,
  hasTerminal,
  lineOnTerminal,
  ringBell,
} from "./terminal.ts";
import type { Io } from "./io.ts";

/** The longest text that is shown of a reason or a field, in characters. */
const MAX_SHOWN = 2_000;

/**
 * Approves every question (`--yes`), except about keys and start-up files, which only people answer. Calls that the
 * policy denies are never asked about.
 */
export const approveAll: Approver = async (_, decision) => {
  if (!isForPerson(decision)) return { answer: "once", by: "--yes" };
  return { answer: "refuse", reason: `--yes does not answer for a person: ${decision.reason ?? ""}`, by: "--yes" };
};

/**
 * Asks on the controlling terminal of this process, whatever stdin is. Returns `undefined` if there is none.
 *
 * @param command runs commands while a question is open; default: commands cannot be run
 */
export function terminalApprover(io: Io, command?: RunAtQuestion): Approver | undefined {
  if (!hasTerminal(io)) return undefined;
  let asking: Promise<unknown> = Promise.resolve();
  return (call, decision, signal) => {
    // One question at a time: the answer to one of two questions could go to the other.
    const answer = asking.then(async () => {
      await new Promise((resolve) => setImmediate(resolve)); // lets the earlier events be shown first
      return askHere(io, questionOf(call, decision), signal, command);
    });
    asking = answer.catch(() => undefined);
    return answer.then((given) => ({ ...(typeof given === "object" ? given : UNANSWERED[given]), by: "terminal" }));
  };
}

const UNANSWERED = {
  left: { answer: "refuse" },
  "no terminal": { answer: "refuse", reason: "There is no terminal any more." },
} as const;

/** The text that a person is shown, and the answers they can give besides y and n. */
export interface Question {
  readonly text: string;
  readonly choices: TerminalChoices<"session" | "always">;
  /** The form that is filled in after a yes. */
  readonly form?: JsonSchema;
  /** The whole call, if `text` shows it without its middle. */
  readonly whole?: string;
}

/** What a question shows, however it is drawn. All texts are raw: the caller escapes them. */
export interface Asked {
  /** The sub-agent that asks, if one does. */
  readonly agent: string | undefined;
  /** Why it is asked about. `undefined` where commands are simply always asked about. */
  readonly reason: string | undefined;
  /** What a longer approval would allow, part by part. Empty if that is exactly the call. */
  readonly parts: readonly string[];
  /** The longest approval. A question that does not fit on a screen cannot be approved for longer than once. */
  readonly longest: "once" | "session" | "always";
  /** The form that is filled in after an approval. */
  readonly form: JsonSchema | undefined;
}

/** Returns what a question shows besides the call itself. */
export function askedOf(call: Described, decision: Decision): Asked {
  const { reason, rule, scopes = [] } = decision;
  const isUsual = rule === "autonomy" || rule === "shell_confirm";
  const described = describeCall(call);
  const parts = [...new Set(scopes.map(({ label }) => label))];
  const longest = longestGrant(decision);
  return {
    agent: call.request?.agent,
    reason: isUsual ? undefined : reason,
    parts: isWholeCall(decision, described) ? [] : parts,
    longest: [described, scopesText(parts, longest)].some((text) => foldedCall(text).isFolded) ? "once" : longest,
    form: call.effects.map((effect) => (effect.kind === "foreign" ? effect.form : undefined)).find(Boolean),
  };
}

/**
 * Returns "Run: npm test [y/N/s/a] ". Above it are the sub-agent that asks, and the reason unless commands are simply
 * always asked about. Below it is what a longer approval would allow, part by part, unless that is exactly the call.
 */
export function questionOf(call: Described, decision: Decision): Question {
  const { agent, reason, parts, longest, form } = askedOf(call, decision);
  const why = reason === undefined ? "" : `${oneLine(reason, MAX_SHOWN)}\n`;
  const { shown, whole, isFolded } = foldedCall(describeCall(call));
  const { choices, keys } = CHOICES[longest];
  const allowed = keys === "" || parts.length === 0 ? "" : `\n${scopesText(parts, longest)}\n`;
  const by = agent === undefined ? "" : `Agent ${oneLine(agent, 100)} asks:\n`;
  const text = `${by}${why}${shown}${allowed} [y/N${keys}${isFolded ? "/v (view all)" : ""}] `;
  return { text, choices, ...(form !== undefined && { form }), ...(isFolded && { whole }) };
}

/** Shows all of a long call, and asks again. */
const VIEW = { v: "view" } as const;

const CHOICES = {
  once: { choices: {}, keys: "" },
  session: { choices: { s: "session" }, keys: "/s" },
  always: { choices: { s: "session", a: "always" }, keys: "/s/a" },
} as const;

function scopesText(parts: readonly string[], longest: keyof typeof CHOICES): string {
  const lines = parts.map((label) => `  ${oneLine(label, Infinity)}`);
  const answers =
    longest === "always" ? "s (this session) and a (always, in this workspace) allow:" : "s (this session) allows:";
  return [answers, ...lines].join("\n");
}

/** Where a person is asked, line by line, as on the controlling terminal. */
export interface LineAsker {
  answer<Choice extends string>(
    question: string,
    signal: AbortSignal,
    choices?: TerminalChoices<Choice>,
    command?: RunAtQuestion,
  ): Promise<TerminalAnswer | Choice>;
  line(question: string, signal: AbortSignal): Promise<{ readonly line: string } | "left" | "no terminal">;
}

/** Asks on the controlling terminal. */
export const controllingTerminal = (io: Io): LineAsker => ({
  answer: (...question) => askOnTerminal(io, ...question),
  line: (...question) => lineOnTerminal(io, ...question),
});

/**
 * Asks, and after a yes for each field of the form. Resolves to "left" when the person closes the question (Ctrl-D).
 *
 * @param at default: the controlling terminal
 * @throws the signal's reason when it fires.
 */
export async function askHere(
  io: Io,
  question: Question,
  signal: AbortSignal,
  command?: RunAtQuestion,
  at: LineAsker = controllingTerminal(io),
): Promise<Approval | "left" | "no terminal"> {
  const { text, choices, form, whole } = question;
  const keys: TerminalChoices<"session" | "always" | "view"> = { ...choices, ...(whole !== undefined && VIEW) };
  ringBell(io);
  const answer = await at.answer(text, signal, keys, command);
  if (answer === "view") {
    // The text ends with what is expected, also after all of it.
    const again = { text: `${whole ?? ""}\n${text}`, choices, ...(form !== undefined && { form }) };
    return askHere(io, { ...again, ...(whole !== undefined && { whole }) }, signal, command, at);
  }
  if (typeof answer === "object") return { answer: "refuse", reason: answer.no };
  switch (answer) {
    case "yes":
      return form === undefined ? { answer: "once" } : filledIn(form, signal, at);
    case "no":
      return { answer: "refuse" };
    default:
      return answer === "session" || answer === "always" ? { answer } : answer;
  }
}

/**
 * Asks for each field of a form. An empty field is not sent, so that its default applies.
 *
 * @throws the signal's reason when it fires.
 */
export async function filledIn(
  form: JsonSchema,
  signal: AbortSignal,
  at: LineAsker,
): Promise<Approval | "left" | "no terminal"> {
  const input: { [field: string]: Json } = {};
  for (const field of formFields(form)) {
    const about = field.description === "" ? "" : `${oneLine(field.description, MAX_SHOWN)}\n`;
    const line = await at.line(`${about}${oneLine(fieldText(field), MAX_SHOWN)}: `, signal);
    if (typeof line === "object") {
      const written = line.line.trim();
      // `defineProperty`: a field may be called __proto__.
      const value = field.isList ? written.split(/\s*,\s*/) : written;
      if (written !== "") Object.defineProperty(input, field.name, { value, enumerable: true });
    } else return line;
  }
  return { answer: "once", input };
}
