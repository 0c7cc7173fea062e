import { onAbort } from "../util/abort.ts";
import type { ApprovalForm } from "./question.ts";

/**
 * The questions of one call, in the order in which they were asked. A tool that makes calls can ask several at once.
 */
export interface Questions {
  /** Resolves to the response of the client. When the signal fires, the question is withdrawn and gets no answer. */
  ask(form: ApprovalForm, signal: AbortSignal): Promise<unknown>;
  /** Resolves to the oldest unanswered question, as soon as there is one. */
  next(): Promise<{ readonly form: ApprovalForm }>;
  /** True until the question was answered or withdrawn. */
  isOpen(form: ApprovalForm): boolean;
  /** Answers a question. Has no effect if it is no longer open. */
  answer(form: ApprovalForm, response: unknown): void;
}

/** Creates an empty list of questions. */
export function createQuestions(): Questions {
  const open: { readonly form: ApprovalForm; readonly settle: (response: unknown) => void }[] = [];
  let wake = () => {};
  const take = (form: ApprovalForm) => {
    const at = open.findIndex((question) => question.form === form);
    return at === -1 ? undefined : open.splice(at, 1)[0];
  };
  return {
    ask: (form, signal) =>
      new Promise((settle) => {
        open.push({ form, settle });
        onAbort(signal, () => void take(form));
        wake();
      }),
    async next() {
      for (;;) {
        const [oldest] = open;
        if (oldest !== undefined) return oldest;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    isOpen: (form) => open.some((question) => question.form === form),
    answer: (form, response) => take(form)?.settle(response),
  };
}
