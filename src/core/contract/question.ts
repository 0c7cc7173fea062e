import type { Approval, Decision } from "./decision.ts";
import type { Effect } from "./effect.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Json } from "./schema.ts";

/** The id of a question to a person. Unique in a store; models do not see it. */
export type QuestionId = string;

/** A question that waits for its answer. */
export interface OpenQuestion {
  readonly question: QuestionId;
  readonly call: CallId;
  readonly thread: ThreadId;
  /** The tool. */
  readonly name: string;
  /** The sub-agent that makes the call, if a sub-agent does. */
  readonly agent?: string;
  readonly input: Json;
  /** Exactly what the call would do, and why it needs approval. Texts are raw: escape them for display. */
  readonly effects: readonly Effect[];
  readonly decision: Decision;
  /** Milliseconds since 1970. */
  readonly askedMs: number;
  /**
   * Present when the call is parked: no process waits for the answer. `untilMs`: when the call expires. `changed`: what
   * has changed since an earlier approval, so that it is asked about again.
   */
  readonly parked?: { readonly untilMs: number; readonly changed?: readonly string[] };
}

/** The outcome of an answer. */
export type AnswerOutcome =
  /** The answer counts. */
  | { readonly status: "answered" }
  /**
   * The answer came too late. `reason` is a clause for people: "it was answered before (once, API)". `first` is the
   * answer that counts; absent if the call ended without an answer.
   */
  | {
      readonly status: "closed";
      readonly reason: string;
      readonly first?: { readonly approval: Approval; readonly by: string };
    }
  /** The question does not exist. */
  | { readonly status: "unknown" };
