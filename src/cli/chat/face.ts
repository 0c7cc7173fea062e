import type { AgentEvent } from "../../agent/agent.ts";
import type { Approver } from "../../contract/policy.ts";
import { terminalSafe } from "../../output/terminal-text.ts";
import { plural } from "../../util/text.ts";
import { terminalApprover } from "../approver.ts";
import { type RunAtQuestion, type TerminalAnswer, type TerminalChoices, askOnTerminal } from "../terminal.ts";
import { textView } from "../run-view.ts";
import { inputLines } from "../stdin.ts";
import { circumstances } from "./approvals.ts";
import { type Block, elapsed, endedLines, painted, runningLines, spinner, withOutput } from "./blocks.ts";
import { PROMPT, createInput } from "./input.ts";
import { createScreen } from "./screen.ts";
import { wrapped } from "./wrap.ts";

/** The input and output of a chat. */
export interface Face {
  /** Resolves to the person's next line; `undefined` when there are no more. */
  next(): Promise<string | undefined>;
  /** Shows an event of the agent. */
  show(event: AgentEvent): Promise<void>;
  /** Prints a text, which may have several lines. */
  say(text: string): void;
  /** Asks the person. Absent without a terminal. */
  readonly ask?: Approver;
  /** Asks the person a question of the chat itself, with `y`, `n` and the given answers. Absent without a terminal. */
  readonly choose?: <Choice extends string>(
    question: string,
    choices: TerminalChoices<Choice>,
  ) => Promise<TerminalAnswer | Choice>;
  /** Clears what is typed. Returns false if nothing was. */
  clearTyped(): boolean;
  close(): void;
}

export interface FaceOptions {
  readonly workDir: string;
  /** Earlier inputs, newest first. */
  readonly history: readonly string[];
  /** The names of the commands. */
  readonly words: readonly string[];
  /** Returns the title of a call: "Run: npm test". */
  readonly titleOf: (name: string, input: string) => Promise<string>;
  readonly onInterrupt: () => void;
  /** Runs a command at an open question. */
  readonly command: RunAtQuestion;
}

/**
 * How long a call runs before it is shown, in milliseconds. Before that it may still be judged, or a person may be
 * asked.
 */
const SHOWN_AFTER_MS = 300;
/** The maximum number of running and waiting calls that are shown. */
const MOST_RUNNING = 4;

/**
 * A chat at a terminal: an editor, a prompt that is hidden while the agent works, and live blocks of the running calls.
 */
export function terminalFace({ workDir, history, words, titleOf, onInterrupt, command }: FaceOptions): Face {
  const { stdout } = process;
  const screen = createScreen(stdout);
  const input = createInput({ history, words, onInterrupt, onKey: () => draw() });
  const askPerson = terminalApprover(command);
  const blocks = new Map<string, Block>();
  let waitsSinceMs: number | undefined;
  let begunMs = 0;
  let ticker: NodeJS.Timeout | undefined;
  let questions: Promise<unknown> = Promise.resolve();

  const linesOf = (text: string) =>
    terminalSafe(text)
      .split("\n")
      .flatMap((line) => wrapped(line, stdout.columns));
  const note = (text: string) => screen.print(linesOf(text).map((line) => painted("dim", line)));
  const draw = () => {
    if (ticker === undefined) return;
    const nowMs = Date.now();
    const columns = stdout.columns;
    const open = [...blocks.values()].filter(({ isAsked }) => !isAsked);
    const running = open.filter(({ sinceMs }) => sinceMs !== undefined && nowMs - sinceMs > SHOWN_AFTER_MS);
    const all = running.length === 0 ? [] : [...running, ...open.filter(({ sinceMs }) => sinceMs === undefined)];
    const lines = all.slice(0, MOST_RUNNING).flatMap((block) => runningLines(block, nowMs, columns));
    if (all.length > MOST_RUNNING) lines.push(painted("dim", `  … ${plural(all.length - MOST_RUNNING, "more call")}`));
    if (blocks.size === 0 && waitsSinceMs !== undefined) {
      lines.push(painted("cyan", `${spinner(nowMs)} thinking`) + `  ${elapsed(nowMs - waitsSinceMs)}`);
    }
    const waiting = input.waiting();
    if (waiting > 0) lines.push(painted("dim", `${plural(waiting, "message")} to send after this turn`));
    const typed = terminalSafe(input.typed()).replaceAll("\n", " ");
    if (typed !== "") lines.push(`${PROMPT}${typed.slice(-(columns - PROMPT.length - 2))}`);
    screen.live(lines);
  };
  const begin = () => {
    input.hide();
    begunMs = Date.now();
    waitsSinceMs = begunMs;
    ticker ??= setInterval(draw, 100);
  };
  const end = () => {
    clearInterval(ticker);
    ticker = undefined;
    screen.endLine();
    screen.live([]);
    input.show();
  };

  const show = async (event: AgentEvent) => {
    switch (event.type) {
      case "message":
        if (ticker === undefined) begin();
        if (event.offered === true) return note(`Message from another process: ${event.text}`);
        return event.from === "handrail" ? note(event.text) : undefined;
      case "text":
        waitsSinceMs = undefined;
        return screen.stream(terminalSafe(event.text));
      case "usage":
        waitsSinceMs = Date.now();
        return screen.endLine();
      case "tool_call": {
        if (event.userFacing === false) return; // without a block, nothing else of it is shown
        const title = await titleOf(event.name, event.input);
        blocks.set(event.id, { title, sinceMs: undefined, isAsked: false, output: "", message: undefined });
        return;
      }
      case "tool_started": {
        const block = blocks.get(event.id);
        if (block !== undefined) block.sinceMs = Date.now();
        return;
      }
      case "tool_update": {
        const block = blocks.get(event.id);
        const { displayMessage, output } = event.update;
        if (block === undefined) return;
        if (displayMessage !== undefined) block.message = displayMessage ?? undefined;
        if (output !== undefined) block.output = withOutput(block.output, output);
        return;
      }
      case "approval": {
        const block = blocks.get(event.id);
        if (block !== undefined) Object.assign(block, { isAsked: event.status === "asked", sinceMs: Date.now() });
        if (event.status === "parked") blocks.delete(event.id); // the end of the turn says that it waits
        return;
      }
      case "tool_result": {
        const block = blocks.get(event.id);
        blocks.delete(event.id);
        waitsSinceMs = Date.now();
        draw(); // removes its live lines
        if (block === undefined) return;
        const ms = block.sinceMs === undefined ? 0 : Date.now() - block.sinceMs;
        return screen.print(endedLines(block, event, ms, stdout.columns));
      }
      case "retry":
        return note(`${event.message} Retry ${event.attempt} in ${(event.waitMs / 1_000).toFixed(1)} s.`);
      case "starting":
        return note(`Waiting for ${event.sources.join(", ")} to start.`);
      case "compacted":
        return note(`The conversation was shortened from ${event.before} to ${event.after} tokens.`);
      case "end": {
        const { reason, message, usage, waitingFor } = event;
        if (reason === "stopped") note("Stopped.");
        if (message !== undefined) note(message);
        if (waitingFor.length > 0) note(`Waiting for job ${waitingFor.join(", ")}.`);
        note(`${elapsed(Date.now() - begunMs)}, ${usage.input} tokens in, ${usage.output} out`);
        return end();
      }
      case "reasoning":
        return;
    }
  };

  /** Lets other code use the terminal. */
  const alone = async <T>(work: () => Promise<T>): Promise<T> => {
    screen.hold();
    input.pause();
    try {
      return await work();
    } finally {
      input.resume();
      screen.release();
    }
  };

  const ask: Approver = (call, decision, signal) => {
    const answer = questions.then(async () => {
      await new Promise((resolve) => setImmediate(resolve)); // lets the earlier events be shown first
      signal.throwIfAborted();
      if (askPerson === undefined) return { answer: "refuse", reason: "There is no terminal to ask at." } as const;
      screen.print([circumstances(call, decision, workDir)]);
      return alone(() => askPerson(call, decision, signal));
    });
    questions = answer.catch(() => undefined);
    return answer;
  };

  input.show();
  return {
    async next() {
      input.show();
      const line = await input.next();
      if (line !== undefined && !line.isOnScreen) screen.print([`${PROMPT}${terminalSafe(line.text)}`]);
      return line?.text;
    },
    show,
    say(text) {
      input.hide();
      screen.print(linesOf(text));
      if (ticker === undefined) input.show();
    },
    ask,
    choose: (question, choices) => alone(() => askOnTerminal(question, new AbortController().signal, choices)),
    clearTyped() {
      const hasTyped = input.typed() !== "";
      if (hasTyped) input.clear();
      return hasTyped;
    },
    close() {
      clearInterval(ticker);
      screen.live([]);
      input.hide();
      input.close();
    },
  };
}

/** A chat without a terminal: each line of stdin is a message. Text goes to stdout, calls to stderr. */
export function plainFace(toContinue: string): Face {
  const view = textView(toContinue);
  const lines = inputLines()[Symbol.asyncIterator]();
  let isClosed = false;
  return {
    async next() {
      for (;;) {
        const line = await lines.next().catch(() => ({ done: true, value: "" }));
        if (line.done || isClosed) return undefined;
        if (line.value.trim() !== "") return line.value.trim();
      }
    },
    show: async (event) => view.show(event),
    say: (text) => void process.stdout.write(`${text}\n`),
    clearTyped: () => false,
    close() {
      isClosed = true;
      process.stdin.destroy();
    },
  };
}
