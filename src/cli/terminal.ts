import { closeSync, constants, readSync, writeSync } from "node:fs";
import type { Interface } from "node:readline/promises";
import type { Writable } from "node:stream";
import { oneLine, terminalSafe } from "../core/output/terminal-text.ts";
import type { Io } from "./io.ts";
import { untilStopped } from "./signals.ts";

/**
 * A person's answer. `{ no }` has the reason ("n REASON"). "left" means that the person closed the question (Ctrl-D),
 * "no terminal" that nobody could be asked.
 */
export type TerminalAnswer = "yes" | "no" | { readonly no: string } | "left" | "no terminal";

/** Additional answers by key: `{ s: "session" }`. The whole word is accepted too. */
export type TerminalChoices<Choice extends string> = { readonly [key: string]: Choice };

/** Runs a line that begins with a slash, at an open question. Returns the text for the person. Never rejects. */
export type RunAtQuestion = (line: string) => Promise<string>;

/** Shows a text and resolves to the line that the person enters. Rejects when the signal fires. */
export interface LineReader {
  question(text: string, options: { readonly signal: AbortSignal }): Promise<string>;
}

/** Returns true when the process has a controlling terminal, whatever stdin is. */
export function hasTerminal(io: Io): boolean {
  const terminal = io.openTerminal();
  if (terminal === undefined) return false;
  closeSync(terminal);
  return true;
}

/**
 * Asks on the controlling terminal until the answer is yes, no or one of the choices. An empty answer means no. The
 * question must be safe for a terminal. With `command`, a line that begins with a slash is run, and the question is
 * asked again. What was typed before the question appeared does not answer it, and is dropped.
 * Rejects when the signal fires.
 */
export async function askOnTerminal<Choice extends string = never>(
  io: Io,
  question: string,
  signal: AbortSignal,
  choices: TerminalChoices<Choice> = {},
  command?: RunAtQuestion,
): Promise<TerminalAnswer | Choice> {
  return withReader(io, (reader) => answerOf(reader, { question, signal, choices, command }));
}

/** Asks on the controlling terminal. Resolves to false for any answer but yes, and when the process is stopped. */
export async function isAgreed(io: Io, question: string): Promise<boolean> {
  const stopped = untilStopped(io);
  try {
    return (await askOnTerminal(io, question, stopped.signal)) === "yes";
  } catch (error) {
    if (stopped.signal.aborted) return false;
    throw error;
  } finally {
    stopped.release();
  }
}

/** Rings the bell of the controlling terminal: most show it also when another window is in front. */
export function ringBell(io: Io): void {
  const terminal = io.openTerminal();
  if (terminal === undefined) return;
  writeSync(terminal, "\x07");
  closeSync(terminal);
}

/** Asks for a line of text in the same way as `askOnTerminal`. */
export async function lineOnTerminal(
  io: Io,
  question: string,
  signal: AbortSignal,
): Promise<{ readonly line: string } | "left" | "no terminal"> {
  return withReader(io, async (reader) => ({ line: await reader.question(question, { signal }) }));
}

/** Asks for a line that is not shown while it is typed, such as a key. */
export async function secretOnTerminal(
  io: Io,
  question: string,
  signal: AbortSignal,
): Promise<{ readonly line: string } | "left" | "no terminal"> {
  return withReader(
    io,
    async (reader, terminal) => {
      terminal.write(question);
      const line = await reader.question("", { signal });
      terminal.write("\n");
      return { line };
    },
    true,
  );
}

/** With `isSecret`, what is typed is not shown. */
async function withReader<T>(
  io: Io,
  ask: (reader: Interface, terminal: Writable) => Promise<T>,
  isSecret = false,
): Promise<T | "left" | "no terminal"> {
  const [reading, writing] = [io.openTerminal(), io.openTerminal()];
  if (reading === undefined || writing === undefined) return "no terminal";
  // Loaded here, because most runs ask nothing.
  const [{ createInterface }, { ReadStream, WriteStream }, { Writable }] = await Promise.all([
    import("node:readline/promises"),
    import("node:tty"),
    import("node:stream"),
  ]);
  const input = new ReadStream(reading);
  const output = new WriteStream(writing);
  const nowhere = new Writable({ write: (_text, _encoding, done) => done() });
  const reader = createInterface({ input, output: isSecret ? nowhere : output, terminal: true });
  // While a line is edited, Ctrl-C arrives as a key. It must still interrupt the process.
  reader.on("SIGINT", () => io.signals.raise("SIGINT"));
  const left = new Promise<"left">((resolve) => reader.once("close", () => resolve("left")));
  try {
    dropTyped(io);
    const answer = await Promise.race([ask(reader, output), left]);
    if (answer === "left") output.write("\n"); // the question's line is not ended
    return answer;
  } finally {
    reader.close();
    input.destroy();
    output.destroy();
  }
}

/** A question, and the answers that it accepts besides yes and no. */
export interface LineQuestion<Choice extends string> {
  readonly question: string;
  readonly signal: AbortSignal;
  readonly choices: TerminalChoices<Choice>;
  readonly command: RunAtQuestion | undefined;
}

/**
 * Asks with the reader until the answer is yes, no or one of the choices. Rejects when the signal fires.
 */
export async function answerOf<Choice extends string>(
  reader: LineReader,
  { question, signal, choices, command }: LineQuestion<Choice>,
): Promise<"yes" | "no" | { readonly no: string } | Choice> {
  let asked = question;
  for (;;) {
    const written = (await reader.question(asked, { signal })).trim();
    if (command !== undefined && written.startsWith("/")) {
      asked = `${terminalSafe(await command(written))}\n${question}`;
      continue;
    }
    const [, reason] = /^no?\s+(.+)$/i.exec(written) ?? [];
    if (reason !== undefined) return { no: reason };
    const answer = written.toLowerCase();
    if (answer === "y" || answer === "yes") return "yes";
    if (answer === "" || answer === "n" || answer === "no") return "no";
    const chosen = Object.entries(choices).find(([key, choice]) => answer === key || answer === choice);
    if (chosen !== undefined) return chosen[1];
    const keys = ["y", ...Object.keys(choices)].join(", ");
    asked = `Expected ${keys} or n, got ${oneLine(written, 60)}.\n${question}`;
  }
}

/**
 * Drops what was typed so far, as `tcflush(TCIFLUSH)` does, which Node does not have. The terminal must be in raw mode:
 * otherwise an unfinished line would stay.
 */
function dropTyped(io: Io): void {
  const terminal = io.openTerminal(constants.O_RDONLY | constants.O_NONBLOCK);
  if (terminal === undefined) return;
  const dropped = Buffer.alloc(4_096);
  try {
    while (readSync(terminal, dropped) > 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
  } finally {
    closeSync(terminal);
  }
}
