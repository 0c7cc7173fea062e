import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import { oneLine } from "../output/terminal-text.ts";
import { type Described, describeCall } from "../policy/describe.ts";
import { isWholeCall, longestGrant } from "../policy/scopes.ts";
import { type TerminalChoices, askOnTerminal, hasTerminal } from "./terminal.ts";

/** What is longer than this on the screen cannot be judged at a glance: it is shown in one line, its middle cut, which that line says. */
const MAX_SHOWN = 2_000;
const MAX_SHOWN_LINES = 20;

/** Approves whatever is asked: `--yes`. What the policy denies never comes here. */
export const approveAll: Approver = async () => ({ answer: "once", by: "--yes" });

/** Asks on the terminal this process belongs to, whatever stdin is; `undefined` when there is none. */
export function terminalApprover(): Approver | undefined {
  if (!hasTerminal()) return undefined;
  let asking: Promise<unknown> = Promise.resolve();
  return (call, decision, signal) => {
    // One question at a time: two on one screen would get each other's answer.
    const answer = asking.then(() => ask(questionOf(call, decision), signal));
    asking = answer.catch(() => undefined);
    return answer.then((approval) => ({ ...approval, by: "terminal" }));
  };
}

/** What a person is shown, and the answers beside y and n that it lets them give. */
export interface Question {
  readonly text: string;
  readonly choices: TerminalChoices<"session" | "always">;
}

/**
 * "Run: npm test [y/N/s/a] ", with the reason above it where it is not just that commands are asked about, and below it what an answer for
 * longer would allow, part by part, where that is not just what is asked. What does not fit on a screen cannot be allowed for longer.
 */
export function questionOf(call: Described, decision: Decision): Question {
  const { reason, rule } = decision;
  const why =
    reason === undefined || rule === "autonomy" || rule === "shell_confirm" ? "" : `${oneLine(reason, MAX_SHOWN)}\n`;
  const described = describeCall(call);
  const { choices, keys } = CHOICES[isShort(described) && isShort(partsOf(decision)) ? longestGrant(decision) : "once"];
  const parts = keys === "" || isWholeCall(decision, described) ? "" : `\n${partsOf(decision)}\n`;
  return { text: `${why}${shown(described)}${parts} [y/N${keys}] `, choices };
}

const CHOICES = {
  once: { choices: {}, keys: "" },
  session: { choices: { s: "session" }, keys: "/s" },
  always: { choices: { s: "session", a: "always" }, keys: "/s/a" },
} as const;

function partsOf({ scopes = [] }: Decision): string {
  const lines = [...new Set(scopes.map(({ label }) => `  ${oneLine(label, Infinity)}`))];
  return ["s (this session) and a (always, in this workspace) allow:", ...lines].join("\n");
}

function isShort(text: string): boolean {
  return text.split("\n").length <= MAX_SHOWN_LINES && oneLine(text, Infinity).length <= MAX_SHOWN;
}

function shown(text: string): string {
  const lines = text.split("\n").map((line) => oneLine(line, Infinity));
  const whole = lines.join("\n");
  return lines.length <= MAX_SHOWN_LINES && whole.length <= MAX_SHOWN ? whole : oneLine(text, MAX_SHOWN);
}

async function ask({ text, choices }: Question, signal: AbortSignal): Promise<Approval> {
  const answer = await askOnTerminal(text, signal, choices);
  if (typeof answer === "object") return { answer: "refuse", reason: answer.no };
  switch (answer) {
    case "yes":
      return { answer: "once" };
    case "session":
    case "always":
      return { answer };
    case "no terminal":
      return { answer: "refuse", reason: "There is no terminal any more." };
    default:
      return { answer: "refuse" };
  }
}
