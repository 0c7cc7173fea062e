import type { Approval, Decision } from "./decision.ts";
import type { Effect } from "./effect.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Json } from "./schema.ts";

/** Names one question to a person. Unique in a store; no model is shown it. */
export type QuestionId = string;

/** A question that waits for its answer. */
export interface OpenQuestion {
  readonly question: QuestionId;
  readonly call: CallId;
  readonly thread: ThreadId;
  /** The tool. */
  readonly name: string;
  readonly input: Json;
  /** Exactly what the call would do, and why it is asked about. Texts are raw: whoever shows them escapes them. */
  readonly effects: readonly Effect[];
  readonly decision: Decision;
  /** Milliseconds since 1970. */
  readonly askedMs: number;
}

/** What has become of an answer. */
export type AnswerOutcome =
  /** It counts. */
  | { readonly status: "answered" }
  /** It came too late. `first` is the answer that counts; left out where the call ended without one. */
  | { readonly status: "closed"; readonly first?: { readonly approval: Approval; readonly by: string } }
  /** There is no such question. */
  | { readonly status: "unknown" };
