import type { Actions } from "./actions.ts";
import type { Alone } from "./alone.ts";
import type { AnswerEditor } from "./answer-text.ts";
import type { MessageEditor } from "./editor.ts";
import type { History } from "./history.ts";
import type { Lists } from "./overlay.ts";
import type { Printer } from "./printer.ts";
import type { Questions } from "./questions.ts";
import type { Queue } from "./queue.ts";
import type { Sending } from "./sending.ts";

/** What Ctrl-C, Escape and Ctrl-D do: the nearest thing is left, then the turn is stopped, then the chat is left. */
export interface Leaving {
  interrupt(): void;
  escape(): void;
  /** The person has closed the input. */
  end(): void;
  /** Stops the turn. */
  stop(): void;
  /** The person did something else than to interrupt. */
  stays(): void;
  /** The turn has ended. */
  stopped(): void;
}

export interface LeavingParts {
  readonly editor: MessageEditor;
  readonly history: History;
  readonly queue: Queue;
  readonly questions: Questions;
  readonly answers: AnswerEditor;
  readonly lists: Lists;
  readonly printer: Printer;
  readonly alone: Alone;
  readonly actions: Actions;
  readonly sending: () => Sending;
  /** Whether a turn or a command runs. */
  readonly isBusy: () => boolean;
}

/** Two Escapes within this time are one wish. Milliseconds. */
const TWICE_MS = 800;

export function createLeaving(parts: LeavingParts): Leaving {
  const { editor, history, queue, questions, answers, lists, printer, alone, actions, sending, isBusy } = parts;
  /** What was asked for once: asked for twice, the chat is left at once. */
  let isStopping = false;
  let isLeaving = false;
  let escapedMs = 0;

  const stop = () => {
    isStopping = true;
    queue.hold();
    actions.stop();
  };
  /** Goes back from an answer to its question. */
  const back = () => {
    answers.end();
    questions.focus();
  };

  return {
    stop,
    interrupt() {
      if (alone.isAway()) return undefined; // it is for the other program
      if (lists.current() !== undefined) return lists.close();
      if (answers.current() !== undefined) return back();
      if (!editor.isEmpty()) return history.add(editor.take()); // Up recalls it
      if (sending().isEnded()) return actions.leaveNow();
      if (isBusy()) return isStopping ? actions.leaveNow() : stop();
      if (isLeaving) return actions.leave();
      isLeaving = true;
      return void actions.running().then((jobs) => printer.say(["Press Ctrl-C again to exit.", ...jobs].join("\n")));
    },
    escape() {
      if (answers.current() !== undefined) return back();
      if (isBusy()) return stop();
      if (Date.now() - escapedMs < TWICE_MS && editor.isEmpty()) actions.rewind();
      return void (escapedMs = Date.now());
    },
    end: () => (sending().isAwaited() ? sending().end() : actions.leave()),
    stays: () => void (isLeaving = false),
    stopped: () => void (isStopping = false),
  };
}
