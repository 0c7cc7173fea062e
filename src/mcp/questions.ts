import type { Approval } from "../contract/decision.ts";
import type { ApprovalForm } from "./question.ts";

/** Questions of one call, in the order they were asked; a tool that calls others can ask several at once. */
export interface Questions {
  /** Resolves to the answer. */
  ask(form: ApprovalForm): Promise<Approval>;
  /** Resolves to the oldest question without an answer, as soon as there is one. */
  next(): Promise<{ readonly form: ApprovalForm }>;
  /** Answers the oldest one. */
  answer(approval: Approval): void;
}

/** No questions yet. */
export function createQuestions(): Questions {
  const open: { readonly form: ApprovalForm; readonly settle: (approval: Approval) => void }[] = [];
  let wake = () => {};
  return {
    ask: (form) =>
      new Promise((settle) => {
        open.push({ form, settle });
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
    answer: (approval) => open.shift()?.settle(approval),
  };
}
