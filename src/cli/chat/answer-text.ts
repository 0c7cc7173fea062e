import type { Draft, MessageEditor } from "./editor.ts";
import type { Question } from "./questions.ts";

/** What the person writes as a part of an answer: the reason of a refusal, or the call as it is changed. */
export interface AnswerText {
  readonly how: "refuse" | "edit";
  readonly question: Question;
  /** What was in the editor before. */
  readonly before: Draft;
}

/** The use of the editor for an answer. It gets back what was in it. */
export interface AnswerEditor {
  /** What is being written. `undefined` while the editor is for messages. */
  current(): AnswerText | undefined;
  begin(how: AnswerText["how"], question: Question): void;
  /** Ends it, and returns what it was. */
  end(): AnswerText | undefined;
}

export function createAnswerEditor(editor: MessageEditor): AnswerEditor {
  let current: AnswerText | undefined;
  return {
    current: () => current,
    begin(how, question) {
      current = { how, question, before: editor.take() };
      if (how === "edit") editor.put({ text: question.editable ?? "" });
    },
    end() {
      const ended = current;
      current = undefined;
      if (ended !== undefined) editor.put(ended.before);
      return ended;
    },
  };
}
