import type { ThreadMessage } from "../record/activity/messages.ts";
import type { ActivityChange, StoredEvent, TurnReason } from "../core/contract/activity.ts";
import type { AssistantPart } from "../core/contract/message.ts";
import type { OpenQuestion } from "../core/contract/question.ts";

export type { ActivityChange, ThreadMessage };

// What the API sends. `npm run docs:api` writes these types, and those that they name, as the schemas of
// /api/openapi.json: programs in other languages get the same names.

/** An open question, with what people need to answer it. */
export type Question = OpenQuestion & {
  /** What the call would do, and why it is asked about, in words. Not escaped. */
  readonly ask: string;
  /** The longest approval that can be given. */
  readonly longest: "once" | "session" | "always";
  /** Why it cannot be approved from where the caller is, and where it can be. */
  readonly whyNot?: string;
};

/** An event of the store. A question that is still open comes with what people need to answer it. */
export type Event =
  | Exclude<StoredEvent, { readonly type: "approval.requested" }>
  | (Extract<StoredEvent, { readonly type: "approval.requested" }> & { readonly open?: Question });

/** A whole message of a stream. It replaces the message with the same `key`; a new key goes at the end. */
export type StreamedMessage = ThreadMessage & {
  readonly key: string;
  /** The open question about the call, with what people need to answer it. */
  readonly open?: Question;
};

/**
 * A reply that the model is still writing, so far. The recorded message with the same `key` replaces it. With an empty
 * content it is void: the model begins again, or the reply broke off before it had a text.
 */
export interface Draft {
  readonly key: string;
  readonly draft: true;
  readonly role: "assistant";
  readonly content: readonly Extract<AssistantPart, { readonly type: "text" | "reasoning" }>[];
}

/** A turn of the thread's agent has ended. */
export interface Turn {
  readonly reason: TurnReason;
  /** The cause, except for "done" and "stopped". */
  readonly message?: string;
  /** What it used, including sub-agents. `cost` is in US dollars, and absent if a model has no price. */
  readonly spent?: Extract<StoredEvent, { readonly type: "turn.ended" }>["spent"];
  /** Milliseconds since 1970. */
  readonly at: number;
}
