import type { Approval } from "./decision.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { QuestionId } from "./question.ts";
import type { Json } from "./schema.ts";

/**
 * Where a parked call is. "parked": its question waits for an answer. "ready": it was approved and waits for a process.
 * "taken": one process runs it. "ended": its result waits for the agent that made it.
 */
export type ParkedState = "parked" | "ready" | "taken" | "ended";

/** Everything that is needed to make a call later, in another process. */
export interface Parking {
  readonly call: CallId;
  readonly thread: ThreadId;
  readonly question: QuestionId;
  /** The backend and its working directory, where alone the call may run: "local:/home/ann/shop". */
  readonly target: string;
  readonly name: string;
  /** The arguments as the model wrote them. They contain no known secret. */
  readonly input: Json;
  /** The turn of the agent that made it. Without one, nobody waits for its result after its end. */
  readonly turn?: string;
  readonly agent?: string;
  /**
   * What an answer is about: for each part, named for people ("the arguments", "the content of /w/deploy.sh"), a digest
   * of what it was when the person was asked.
   */
  readonly about: { readonly [part: string]: string };
  /** The parts that have changed since it was approved, because of which it is asked about again. */
  readonly changed?: readonly string[];
  /** What the model reads when a person refuses, without the reason. */
  readonly refusal: string;
  /** How long it waits for its answer, and then again for its process. Milliseconds. */
  readonly keepMs: number;
}

/** A parked call, as the store has it. Times are in milliseconds since 1970. */
export interface ParkedCall extends Parking {
  readonly state: ParkedState;
  readonly sinceMs: number;
  /** Afterwards it is neither answered nor taken: it expires. */
  readonly untilMs: number;
  /** The approval, from "ready" on. */
  readonly approval?: Approval;
  readonly by?: string;
  /** A random name of the process's claim, from "taken" on. */
  readonly claim?: string;
}

/** One step of a parked call. Of several at the same time, only one that is still allowed happens. */
export type ParkedMove =
  /** By the one process that will run it. A claim that is repeated with the same name succeeds again. */
  | { readonly to: "taken"; readonly claim: string; readonly target: string }
  /** By a person: it is not to run any more. */
  | { readonly to: "withdrawn"; readonly by: string }
  /** By the agent that has added the result to its thread. */
  | { readonly to: "delivered" };

export type MoveOutcome =
  | { readonly status: "moved"; readonly parked: ParkedCall }
  /** `reason` is a clause: "another process runs it". `parked` is absent if there is no such parked call any more. */
  | { readonly status: "refused"; readonly reason: string; readonly parked?: ParkedCall };

/** Which parked calls to list. Default for each: all. */
export interface ParkedFilter {
  readonly call?: CallId;
  readonly thread?: ThreadId;
  readonly target?: string;
  readonly states?: readonly ParkedState[];
}
