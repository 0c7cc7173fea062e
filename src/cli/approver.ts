import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import { oneLine } from "../output/terminal-text.ts";
import { describeCall } from "../policy/describe.ts";
import { askOnTerminal, hasTerminal } from "./terminal.ts";

/** What is longer than this on the screen cannot be judged at a glance: it is shown in one line, its middle cut, which that line says. */
const MAX_SHOWN = 2_000;
const MAX_SHOWN_LINES = 20;

/** Approves whatever is asked: `--yes`. What the policy denies never comes here. */
export const approveAll: Approver = async () => ({ answer: "once" });

/** Asks on the terminal this process belongs to, whatever stdin is; `undefined` when there is none. */
export function terminalApprover(): Approver | undefined {
  if (!hasTerminal()) return undefined;
  let asking: Promise<unknown> = Promise.resolve();
  return (call, decision, signal) => {
    // One question at a time: two on one screen would get each other's answer.
    const answer = asking.then(() => ask(questionOf(call, decision), signal));
    asking = answer.catch(() => undefined);
    return answer;
  };
}

/** "Run: npm test [y/N] ", with the reason above it where it is not just that commands are asked about. */
function questionOf(call: CheckedCall, { reason, rule }: Decision): string {
  const why = reason === undefined || rule === "autonomy" ? "" : `${oneLine(reason, MAX_SHOWN)}\n`;
  return `${why}${shown(describeCall(call))} [y/N] `;
}

function shown(text: string): string {
  const lines = text.split("\n").map((line) => oneLine(line, Infinity));
  const whole = lines.join("\n");
  return lines.length <= MAX_SHOWN_LINES && whole.length <= MAX_SHOWN ? whole : oneLine(text, MAX_SHOWN);
}

async function ask(question: string, signal: AbortSignal): Promise<Approval> {
  const answer = await askOnTerminal(question, signal);
  if (answer === "yes") return { answer: "once" };
  return answer === "no terminal"
    ? { answer: "refuse", reason: "There is no terminal any more." }
    : { answer: "refuse" };
}
