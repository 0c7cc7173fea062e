import { closeSync, openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";
import { createInterface } from "node:readline/promises";
import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import { oneLine } from "../output/terminal-text.ts";
import { describeCall } from "../policy/describe.ts";

/** A command that is longer than this on the screen cannot be judged at a glance; the question says that it is cut. */
const MAX_SHOWN = 2_000;

/** Approves whatever is asked: `--yes`. What the policy denies never comes here. */
export const approveAll: Approver = async () => ({ answer: "once" });

/** Asks on the terminal this process belongs to, whatever stdin is; `undefined` when there is none. */
export function terminalApprover(): Approver | undefined {
  const terminal = openTerminal();
  if (terminal === undefined) return undefined;
  closeSync(terminal);
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
  const lines = describeCall(call).split("\n").map((line) => oneLine(line, MAX_SHOWN));
  const why = reason === undefined || rule === "autonomy" ? [] : [oneLine(reason, MAX_SHOWN)];
  return `${[...why, ...lines].join("\n")} [y/N] `;
}

async function ask(question: string, signal: AbortSignal): Promise<Approval> {
  const descriptor = openTerminal();
  if (descriptor === undefined) return { answer: "refuse", reason: "There is no terminal any more." };
  const input = new ReadStream(descriptor);
  const output = new WriteStream(descriptor);
  const reader = createInterface({ input, output });
  try {
    for (;;) {
      const answer = (await reader.question(question, { signal })).trim().toLowerCase();
      if (answer === "y" || answer === "yes") return { answer: "once" };
      if (answer === "" || answer === "n" || answer === "no") return { answer: "refuse" };
    }
  } finally {
    reader.close();
    input.destroy();
    output.destroy();
  }
}

function openTerminal(): number | undefined {
  try {
    return openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
}
