import { closeSync, openSync } from "node:fs";
import { ReadStream, WriteStream } from "node:tty";
import { type Interface, createInterface } from "node:readline/promises";
import type { CheckedCall } from "../contract/call.ts";
import type { Approval, Decision } from "../contract/decision.ts";
import type { Approver } from "../contract/policy.ts";
import { oneLine } from "../output/terminal-text.ts";
import { describeCall } from "../policy/describe.ts";

/** What is longer than this on the screen cannot be judged at a glance: it is shown in one line, its middle cut, which that line says. */
const MAX_SHOWN = 2_000;
const MAX_SHOWN_LINES = 20;

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
  const why = reason === undefined || rule === "autonomy" ? "" : `${oneLine(reason, MAX_SHOWN)}\n`;
  return `${why}${shown(describeCall(call))} [y/N] `;
}

function shown(text: string): string {
  const lines = text.split("\n").map((line) => oneLine(line, Infinity));
  const whole = lines.join("\n");
  return lines.length <= MAX_SHOWN_LINES && whole.length <= MAX_SHOWN ? whole : oneLine(text, MAX_SHOWN);
}

async function ask(question: string, signal: AbortSignal): Promise<Approval> {
  const [reading, writing] = [openTerminal(), openTerminal()];
  if (reading === undefined || writing === undefined)
    return { answer: "refuse", reason: "There is no terminal any more." };
  const input = new ReadStream(reading);
  const output = new WriteStream(writing);
  const reader = createInterface({ input, output });
  // While a line is edited Ctrl-C is a key like any other; it still means what it always does.
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  // Ctrl-D closes the question without an answer.
  const left = new Promise<Approval>((resolve) => reader.once("close", () => resolve({ answer: "refuse" })));
  try {
    return await Promise.race([answerOf(reader, question, signal), left]);
  } finally {
    reader.close();
    input.destroy();
    output.destroy();
  }
}

async function answerOf(reader: Interface, question: string, signal: AbortSignal): Promise<Approval> {
  for (;;) {
    const answer = (await reader.question(question, { signal })).trim().toLowerCase();
    if (answer === "y" || answer === "yes") return { answer: "once" };
    if (answer === "" || answer === "n" || answer === "no") return { answer: "refuse" };
  }
}

function openTerminal(): number | undefined {
  try {
    return openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
}
