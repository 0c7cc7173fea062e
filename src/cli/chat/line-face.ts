import { text } from "../../core/contract/content.ts";
import type { Approver } from "../../core/contract/policy.ts";
import { type LineAsker, askHere } from "../approver.ts";
import { plainQuestion } from "../plain.ts";
import type { RunView } from "../run-view.ts";
import { inputLines } from "../stdin.ts";
import { type LineReader, answerOf } from "../terminal.ts";
import type { Face, Sent } from "./face.ts";
import { isCommand } from "./face.ts";
import type { Actions } from "./actions.ts";
import { say as printLine, write as print } from "../say.ts";
import type { Io } from "../io.ts";

/** What the person can do besides sending messages. */
export type LineActions = Pick<Actions, "steer" | "stop" | "leaveNow" | "command" | "shell">;

/** What is expected when a message is. */
const PROMPT = "Message, or /help, and Enter: ";

/**
 * A chat at a terminal without redrawing, for screen readers and simple terminals: the terminal edits a line, each
 * event is a line, and a prompt says what is expected. What is entered during a turn is sent after the running call.
 */
export function lineFace(io: Io, view: RunView, actions: LineActions): Face {
  const lines: string[] = [];
  let isEnded = false;
  let isBusy = false;
  let isInterrupted = false;
  /** Takes the next line, if one is waited for. */
  let taker: ((line: string | undefined) => void) | undefined;
  let questions: Promise<unknown> = Promise.resolve();

  const write = (words: string) => void print(io, words);
  const say = (words: string) => printLine(io, words);
  const take = (line: string | undefined) => {
    const taking = taker;
    taker = undefined;
    if (line === undefined) isEnded = true;
    else if (taking === undefined && line.trim() !== "") duringTurn(line.trim());
    taking?.(line);
  };
  const duringTurn = (line: string) => {
    if (isCommand(line)) return void actions.command(line).then((words) => words !== "" && say(words));
    if (line.startsWith("!") && line.length > 1) return actions.shell(line.slice(1).trim());
    if (!isBusy) return void lines.push(line);
    actions.steer([text(line)]);
    return say("Queued: the agent reads it after the running call.");
  };
  const read = async () => {
    for await (const line of inputLines(io)) take(line);
  };
  void read().then(
    () => take(undefined),
    () => take(undefined),
  );

  /** Resolves to the next line; `undefined` at the end of the input. Rejects with the signal's reason. */
  const nextLine = (prompt: string, signal?: AbortSignal): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      if (isEnded) return resolve(undefined);
      const onAbort = () => {
        taker = undefined;
        write("\n");
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      taker = (line) => {
        signal?.removeEventListener("abort", onAbort);
        resolve(line);
      };
      write(prompt);
    });
  const reader: LineReader = {
    async question(prompt, { signal }) {
      signal.throwIfAborted();
      const line = await nextLine(prompt, signal);
      if (line === undefined) throw new InputEnded();
      return line;
    },
  };
  const unlessEnded = async <T>(asking: Promise<T>): Promise<T | "left"> =>
    asking.catch((error: unknown) => {
      if (error instanceof InputEnded) return "left";
      throw error;
    });
  const at: LineAsker = {
    answer: (question, signal, choices, command) =>
      unlessEnded(answerOf(reader, { question, signal, choices: choices ?? {}, command })),
    line: (question, signal) =>
      unlessEnded(reader.question(question, { signal }).then((line): { readonly line: string } => ({ line }))),
  };
  const ask: Approver = (call, decision, signal) => {
    const answer = questions.then(async () => {
      await new Promise((resolve) => setImmediate(resolve)); // lets the earlier events be shown first
      const given = await askHere(io, plainQuestion(call, decision), signal, actions.command, at);
      return typeof given === "object" ? { ...given, by: "terminal" } : ({ answer: "refuse", by: "terminal" } as const);
    });
    questions = answer.catch(() => undefined);
    return answer;
  };
  const interrupt = () => {
    if (isBusy && !isInterrupted) actions.stop();
    else if (isInterrupted) return actions.leaveNow();
    else say("\nPress Ctrl-C again to exit.");
    isInterrupted = true;
  };
  io.signals.on("SIGINT", interrupt);

  return {
    async next(): Promise<Sent | undefined> {
      isInterrupted = false;
      for (;;) {
        const line = lines.shift() ?? (await nextLine(PROMPT));
        if (line === undefined) return undefined;
        const words = line.trim();
        if (words.startsWith("!") && words.length > 1) actions.shell(words.slice(1).trim());
        else if (words !== "") return { text: words, content: [text(words)] };
      }
    },
    async show(event) {
      if (event.type === "message" || event.type === "tool_call") isBusy = true;
      if (event.type === "end") isBusy = false;
      await view.show(event);
    },
    say,
    ask,
    choose: (question, choices) => at.answer(question, new AbortController().signal, choices),
    close() {
      io.signals.off("SIGINT", interrupt);
      io.stdin.destroy();
      take(undefined);
    },
  };
}

/** The input has ended while a line was waited for. */
class InputEnded extends Error {}
