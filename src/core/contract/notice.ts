import type { Risk } from "./decision.ts";
import type { ThreadId } from "./identity.ts";
import type { QuestionId } from "./question.ts";

/** Something for a person who may be elsewhere. */
export interface Notice {
  readonly about: "question" | "schedule";
  /** One short line without details or secrets: "bash waits for your answer". People nearby may see it. */
  readonly title: string;
  /** The whole text for people, masked: the question's text, a schedule's error. */
  readonly text: string;
  readonly thread?: ThreadId;
  readonly question?: QuestionId;
  readonly risk?: Risk;
}
