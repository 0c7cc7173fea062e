import type { Approval } from "./decision.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { QuestionId } from "./question.ts";
import type { Json } from "./schema.ts";
import type { Delivery } from "./delivery.ts";

/**
 * The state of a parked call. "parked": its question waits for an answer. "ready": it was approved and waits for a
 * process. "taken": one process runs it. "ended": its result waits for the agent that made the call.
 */
export type ParkedState = "parked" | "ready" | "taken" | "ended";

/** Everything that is needed to make a call later, in another process. */
export interface Parking {
  readonly call: CallId;
  readonly thread: ThreadId;
  /** "" for a call for a worker about which nobody was asked yet. */
  readonly question: QuestionId;
  /** The backend and its working directory: the call may run only there. "local:/home/ann/shop". */
  readonly target: string;
  readonly name: string;
  /** The arguments as the model wrote them. They contain no known secret. */
  readonly input: Json;
  /** The agent's turn in which the call was made. Without a turn, nobody waits for the call's result. */
  readonly turn?: string;
  readonly agent?: string;
  /** The W3C `traceparent` of the span in which the call was parked. */
  readonly trace?: string;
  /**
   * What an answer is about: the digest of each part, as it was when the person was asked. Each part has a name for
   * people ("the arguments", "the content of /w/deploy.sh").
   */
  readonly about: { readonly [part: string]: string };
  /** The parts that have changed since the call was approved: they are why it is asked about again. */
  readonly changed?: readonly string[];
  /** What the model reads when a person refuses, without the reason. */
  readonly refusal: string;
  /** How long the call waits for its answer, and then again for its process. Milliseconds. */
  readonly keepMs: number;
  /** For a call that a worker makes. */
  readonly delivery?: Delivery;
}

/** A parked call, as the store keeps it. Times are in milliseconds since 1970. */
export interface ParkedCall extends Parking {
  readonly state: ParkedState;
  readonly sinceMs: number;
  /** After this time the call is neither answered nor taken: it expires. */
  readonly untilMs: number;
  /** The approval. Present in the state "ready" and later. */
  readonly approval?: Approval;
  readonly by?: string;
  /** A random name of the process's claim. Present in the state "taken" and later. */
  readonly claim?: string;
  /** The worker that has claimed it. */
  readonly worker?: string;
}

/** One step of a parked call. Of several steps at the same time, only a step that is still allowed happens. */
export type ParkedMove =
  /** By the one process that will run the call. Repeating a claim with the same name succeeds again. */
  | { readonly to: "taken"; readonly claim: string; readonly target: string; readonly worker?: string }
  /** By a person who no longer wants the call to run. */
  | { readonly to: "withdrawn"; readonly by: string }
  /** The agent has added the result to its thread. */
  | { readonly to: "delivered" };

export type MoveOutcome =
  | { readonly status: "moved"; readonly parked: ParkedCall }
  /** `reason` is a clause: "another process runs it". `parked` is absent if the parked call no longer exists. */
  | { readonly status: "refused"; readonly reason: string; readonly parked?: ParkedCall };

/** Which parked calls to list. Default of each field: all calls. */
export interface ParkedFilter {
  readonly call?: CallId;
  readonly thread?: ThreadId;
  readonly target?: string;
  readonly states?: readonly ParkedState[];
}
