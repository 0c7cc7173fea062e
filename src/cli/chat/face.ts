import type { AgentEvent } from "../../agent/agent.ts";
import type { Content } from "../../core/contract/content.ts";
import type { Approver } from "../../core/contract/policy.ts";
import { text } from "../../core/contract/content.ts";
import type { Entry } from "./overlay.ts";
import type { RunView } from "../run-view.ts";
import { inputLines } from "../stdin.ts";
import type { TerminalAnswer, TerminalChoices } from "../terminal.ts";
import { say } from "../say.ts";
import type { Io } from "../io.ts";

/** What a person has sent. */
export interface Sent {
  /** The text, with pasted texts whole. */
  readonly text: string;
  /** The parts of the message, with images. */
  readonly content: readonly Content[];
}

/** The input and output of a chat. */
export interface Face {
  /** Resolves to what the person sends next, when no turn runs; `undefined` when there is no more. */
  next(): Promise<Sent | undefined>;
  /**
   * Shows an event of the agent.
   *
   * @param isPersons true for an event of a call that the person makes
   */
  show(event: AgentEvent, isPersons?: boolean): Promise<void>;
  /** Prints a text, which may have several lines. */
  say(text: string): void;
  /** Asks the person. Absent without a terminal. */
  readonly ask?: Approver;
  /** Asks the person a question of the chat itself, with `y`, `n` and the given answers. Absent without a terminal. */
  readonly choose?: <Choice extends string>(
    question: string,
    choices: TerminalChoices<Choice>,
    /** Closes the question: it rejects then. */
    signal?: AbortSignal,
  ) => Promise<TerminalAnswer | Choice>;
  /** Lets the person choose from a list. Absent without a terminal. */
  readonly pick?: <T>(title: string, items: readonly Entry<T>[]) => Promise<T | undefined>;
  /** Puts a text into the editor, if it is empty. Absent without a terminal. */
  readonly prefill?: (text: string) => void;
  /** Draws the status again, which has changed. Absent without a status line. */
  readonly update?: () => void;
  /** The keys and what they do, a line each. Absent without a terminal. */
  readonly keys?: readonly string[];
  close(): void;
}

/**
 * Returns true if a message is a command: a slash and a name, which may name a server's prompt. A path such as
 * /etc/hosts is not a command.
 */
export function isCommand(words: string): boolean {
  return /^\/[^\s/]*(?:\s|$)/.test(words);
}

/** A chat without a terminal: each line of stdin is a message. */
export function pipedFace(io: Io, view: RunView): Face {
  const lines = inputLines(io)[Symbol.asyncIterator]();
  let isClosed = false;
  return {
    async next() {
      for (;;) {
        const line = await lines.next().catch(() => ({ done: true, value: "" }));
        if (line.done || isClosed) return undefined;
        const words = line.value.trim();
        if (words !== "") return { text: words, content: [text(words)] };
      }
    },
    show: async (event) => await view.show(event),
    say: (words) => say(io, words),
    close() {
      isClosed = true;
      io.stdin.destroy();
    },
  };
}
