import { closeSync, openSync } from "node:fs";
import type { Interface } from "node:readline/promises";

/** What a person said: `{ no }` with the reason ("n REASON"); "left": they closed the question (Ctrl-D); "no terminal": there was nobody to ask. */
export type TerminalAnswer = "yes" | "no" | { readonly no: string } | "left" | "no terminal";

/** Further answers by the key that gives them: `{ s: "session" }`. The whole word gives them too. */
export type TerminalChoices<Choice extends string> = { readonly [key: string]: Choice };

/** True when this process belongs to a terminal, whatever its stdin is. */
export function hasTerminal(): boolean {
  const terminal = openTerminal();
  if (terminal === undefined) return false;
  closeSync(terminal);
  return true;
}

/**
 * Asks on the terminal this process belongs to, until the answer is yes, no or one of the choices; none is no. The question is to be fit for a terminal.
 * Rejects when the signal fires.
 */
export async function askOnTerminal<Choice extends string = never>(
  question: string,
  signal: AbortSignal,
  choices: TerminalChoices<Choice> = {},
): Promise<TerminalAnswer | Choice> {
  const [reading, writing] = [openTerminal(), openTerminal()];
  if (reading === undefined || writing === undefined) return "no terminal";
  // Most runs ask nothing.
  const [{ createInterface }, { ReadStream, WriteStream }] = await Promise.all([
    import("node:readline/promises"),
    import("node:tty"),
  ]);
  const input = new ReadStream(reading);
  const output = new WriteStream(writing);
  const reader = createInterface({ input, output });
  // While a line is edited Ctrl-C is a key like any other; it still means what it always does.
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const left = new Promise<"left">((resolve) => reader.once("close", () => resolve("left")));
  try {
    return await Promise.race([answerOf(reader, question, signal, choices), left]);
  } finally {
    reader.close();
    input.destroy();
    output.destroy();
  }
}

async function answerOf<Choice extends string>(
  reader: Interface,
  question: string,
  signal: AbortSignal,
  choices: TerminalChoices<Choice>,
): Promise<"yes" | "no" | { readonly no: string } | Choice> {
  for (;;) {
    const written = (await reader.question(question, { signal })).trim();
    const [, reason] = /^no?\s+(.+)$/i.exec(written) ?? [];
    if (reason !== undefined) return { no: reason };
    const answer = written.toLowerCase();
    if (answer === "y" || answer === "yes") return "yes";
    if (answer === "" || answer === "n" || answer === "no") return "no";
    const chosen = Object.entries(choices).find(([key, choice]) => answer === key || answer === choice);
    if (chosen !== undefined) return chosen[1];
  }
}

function openTerminal(): number | undefined {
  try {
    return openSync("/dev/tty", "r+");
  } catch {
    return undefined;
  }
}
