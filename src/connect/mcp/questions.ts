import { onAbort } from "../../core/util/abort.ts";
import type { Question } from "./form.ts";

/**
 * The questions of one call, in the order in which they were asked. A tool that makes calls can ask several at once.
 */
export interface Questions {
  /** Resolves to the response of the client. When the signal fires, the question is withdrawn and gets no answer. */
  ask(question: Question, signal: AbortSignal): Promise<unknown>;
  /** Resolves to the oldest unanswered question, as soon as there is one. */
  next(): Promise<Question>;
  /** True until the question was answered or withdrawn. */
  isOpen(question: Question): boolean;
  /** Answers a question. Has no effect if it is no longer open. */
  answer(question: Question, response: unknown): void;
}

/** Creates an empty list of questions. */
export function createQuestions(): Questions {
  const open: { readonly question: Question; readonly settle: (response: unknown) => void }[] = [];
  let wake = () => {};
  const take = (question: Question) => {
    const at = open.findIndex((each) => each.question === question);
    return at === -1 ? undefined : open.splice(at, 1)[0];
  };
  return {
    ask: (question, signal) =>
      new Promise((settle) => {
        open.push({ question, settle });
        onAbort(signal, () => void take(question));
        wake();
      }),
    async next() {
      for (;;) {
        const [oldest] = open;
        if (oldest !== undefined) return oldest.question;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    isOpen: (question) => open.some((each) => each.question === question),
    answer: (question, response) => take(question)?.settle(response),
  };
}
