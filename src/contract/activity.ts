import type { CallId, ThreadId } from "./identity.ts";
import type { Alarm, Refusal } from "./containment.ts";
import type { Effect } from "./effect.ts";
import type { Approval, Decision } from "./decision.ts";
import type { Exit } from "./backend.ts";
import type { RecordedJob } from "./job.ts";
import type { Message } from "./message.ts";
import type { MoveOutcome, ParkedCall, ParkedFilter, ParkedMove, Parking } from "./parked.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "./question.ts";
import type { ToolStatus } from "./result.ts";
import type { Json } from "./schema.ts";
import type { JobLifetime } from "./lifetime.ts";

/** An event that a store has not numbered yet. Events are facts: noun and past participle. */
export type ActivityEvent = CallEvent | ThreadEvent;

/** An event of a thread. */
export type ThreadEvent = {
  readonly call?: undefined;
  readonly thread: ThreadId;
  /** Milliseconds since 1970. */
  readonly at: number;
} &
  /**
   * `target` is the name of the backend; `parent` is the call that started the thread, if any; `startedWith` is what
   * the program that started it needs to continue it in the same way; `fork` is the thread whose first messages it was
   * begun with.
   */
  (
    | {
        readonly type: "thread.created";
        readonly target: string;
        readonly workDir: string;
        readonly parent?: CallId;
        readonly startedWith?: { readonly [name: string]: string };
        readonly fork?: ThreadId;
      }
    | { readonly type: "message.added"; readonly message: Message }
    /**
     * A message of a person for the agent whose turn has the thread, in this process or another. That agent adds it
     * between two rounds; otherwise the agent that offers it does, when it has the thread. Without `message` the offer
     * is withdrawn.
     */
    | { readonly type: "message.offered"; readonly offer: string; readonly message?: Message }
    /** A request to stop the thread's running calls and the turn of its agent. Its jobs continue. */
    | { readonly type: "stop.requested"; readonly by: string }
    /**
     * A turn of the thread's agent has ended. `message` says why where that is not "done" or "stopped". `spent`:
     * tokens and, if the models have prices, the cost, including sub-agents.
     */
    | {
        readonly type: "turn.ended";
        readonly reason: TurnReason;
        readonly message?: string;
        readonly spent?: {
          readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
          readonly cost?: number;
        };
      }
  );

/**
 * Why a turn of an agent ended. "done": the model answered. "stopped": somebody stopped it. "max_rounds", "max_time",
 * "max_tokens", "max_cost": a limit was reached, and the model was asked for a last word. "cut_off": the reply reached
 * the model's limit of output. "parked": calls of the last reply wait for a person. "failed": the turn could not
 * continue.
 */
export type TurnReason =
  | "done"
  | "stopped"
  | "parked"
  | "max_rounds"
  | "max_time"
  | "max_tokens"
  | "max_cost"
  | "cut_off"
  | "failed";

/** An event of a call. */
export type CallEvent = {
  readonly call: CallId;
  readonly thread: ThreadId;
  /** Milliseconds since 1970. */
  readonly at: number;
} & (
  | {
      readonly type: "call.started";
      readonly name: string;
      readonly input: Json;
      /** A one-line summary of the tool's parameters. Absent for an unknown tool. */
      readonly paramsHint?: string;
      /** `false`: apps do not show this call. Absent: they do. */
      readonly userFacing?: false;
      readonly parent?: CallId;
      /** The name of the sub-agent that makes the call, if any. */
      readonly agent?: string;
    }
  /** The decision of the policy and the person. Durable before an act runs. */
  | {
      readonly type: "call.approved";
      readonly effects: readonly Effect[];
      readonly decision: Decision;
    }
  /** A person is asked about the call. The question is open until it is answered or the call has finished. */
  | {
      readonly type: "approval.requested";
      readonly question: QuestionId;
      readonly effects: readonly Effect[];
      readonly decision: Decision;
    }
  /** The one answer to a question. `by`: where it came from, for people: "terminal", "MCP client". */
  | {
      readonly type: "approval.decided";
      readonly question: QuestionId;
      readonly approval: Approval;
      readonly by: string;
    }
  /**
   * Nobody has answered, and no process waits any more: the question stays open until `untilMs`. `changed`: what has
   * changed since the call was approved.
   */
  | {
      readonly type: "call.parked";
      readonly question: QuestionId;
      readonly untilMs: number;
      readonly changed?: readonly string[];
    }
  /** One process has claimed the parked call and runs it, if it is still what was approved. */
  | { readonly type: "call.taken" }
  /** A request to stop the call or, with `job`, that job of the call. `by` as in `approval.decided`. */
  | { readonly type: "stop.requested"; readonly by: string; readonly job?: string }
  | { readonly type: "call.updated"; readonly update: CallUpdate }
  /** The call's cell was changed from outside, perhaps after the end of the call. */
  | { readonly type: "activity.updated"; readonly change: ActivityChange }
  | {
      readonly type: "call.finished";
      /**
       * "interrupted": its process died; the next process that opens the store records it. Nothing is run again
       * automatically.
       */
      readonly status: Exclude<ToolStatus, "parked"> | "interrupted";
      /** For people, at most 200 characters; the result has the whole text. */
      readonly error?: string;
      readonly data?: Json;
      /** What the model read: secrets masked, at most 65,536 characters. */
      readonly content?: readonly RecordedContent[];
    }
  /** The call started a background command, which outlives it. */
  | { readonly type: "job.started"; readonly job: string; readonly command: string; readonly lifetime: JobLifetime }
  | { readonly type: "job.ended"; readonly job: string; readonly exit: Exit }
  /** A request to write to the stdin of a job, as a call of the tool `jobs` with the id `request`. It is judged. */
  | ({ readonly type: "input.requested" } & JobInput)
  /** A request to record the last lines of a job for the next 30 seconds, as `job.output`. `by` as above. */
  | { readonly type: "job.watched"; readonly job: string; readonly by: string }
  /**
   * The last lines of a watched job: after each request and when they have changed, once a second. Up to 4,096 bytes.
   */
  | { readonly type: "job.output"; readonly job: string; readonly text: string }
  /** A person asks to open a port of a job in the sandbox. The process that has the job answers with `port.opened`. */
  | { readonly type: "port.requested"; readonly job: string; readonly port: number; readonly by: string }
  /** The answer: the address for a browser on this machine (`Process.openPort`), or why there is none. */
  | {
      readonly type: "port.opened";
      readonly job: string;
      readonly port: number;
      readonly url?: string;
      readonly problem?: string;
    }
  /** The sandbox refused something to a command of the call, or to this job of it. The call may still succeed. */
  | { readonly type: "sandbox.refused"; readonly refusals: readonly Refusal[]; readonly job?: string }
  /** There were unusually many refusals. Nothing was stopped because of it. */
  | ({ readonly type: "sandbox.alarmed" } & Alarm)
);

/** What a person writes to a job of another process. */
export interface JobInput {
  readonly job: string;
  /** The id of the call that writes it. */
  readonly request: CallId;
  readonly text: string;
  /** Ends the job's stdin after that. */
  readonly end?: boolean;
  readonly by: string;
}

export type ActivityEventType = ActivityEvent["type"];

/** An event as a store keeps it. */
export type StoredEvent = ActivityEvent & {
  /** Grows within a store and never repeats: a position to resume from. */
  readonly id: number;
};

/** What a running tool reports to people. */
export interface CallUpdate {
  /** One line about its current work; `null` removes it. Removed when the call ends. */
  readonly displayMessage?: string | null;
  /** Merged into the activity's data. */
  readonly data?: { readonly [key: string]: Json };
  /** More of its live output. */
  readonly output?: string;
}

/** A change of a call's cell from outside. Absent fields stay the same. */
export interface ActivityChange {
  /** Shown while the call runs. */
  readonly display_message?: string;
  readonly error?: string;
  /** Merged into the activity's data. */
  readonly data?: { readonly [key: string]: Json };
  /** Fields to delete. */
  readonly deleted?: readonly ("display_message" | "error")[];
}

/** One part of a recorded result. */
export type RecordedContent =
  | { readonly type: "text"; readonly text: string }
  /** `output` is the id of the saved output with the image; absent if it was not saved. `bytes` is its size. */
  | { readonly type: "image"; readonly mimeType: string; readonly bytes: number; readonly output?: string };

export interface FeedOptions {
  /** Only events after this id; "now": only new ones. Default 0: all that are kept. */
  readonly after?: number | "now";
  /** Only events of these types. Default: all. */
  readonly types?: readonly ActivityEventType[];
  readonly thread?: ThreadId;
  readonly call?: CallId;
  /** Only events of threads themselves: their creation and messages. Default false. */
  readonly messages?: boolean;
  /** Whether to continue with new events until the signal fires or the store closes. Default false. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** An entry in a list of threads. */
export interface ThreadSummary {
  readonly thread: ThreadId;
  /** Absent for a thread that was not created explicitly, such as "main". */
  readonly target?: string;
  readonly workDir?: string;
  readonly parent?: CallId;
  /** As the program that started it recorded it: for the command line, its options. */
  readonly startedWith?: { readonly [name: string]: string };
  /** The thread whose first messages it was begun with. */
  readonly fork?: ThreadId;
  /** The beginning of the first message of a person, at most 200 characters. */
  readonly title?: string;
  /** When the thread's first and newest events happened, in milliseconds since 1970. */
  readonly createdMs: number;
  readonly changedMs: number;
}

export interface SearchOptions {
  /** The text to search for, at most 1,000 characters. ASCII letters match in both cases. */
  readonly text: string;
  readonly thread?: ThreadId;
  /** The most hits to return. Default 50. */
  readonly limit?: number;
}

/** A message or call that contains the searched text. */
export interface SearchHit {
  readonly thread: ThreadId;
  /** The event that contains it. */
  readonly id: number;
  /** Absent for a message of a person or a model. */
  readonly call?: CallId;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The text around the first match, at most 200 characters. */
  readonly excerpt: string;
}

/**
 * Keeps events in order. Several processes may share a store: an id becomes visible only after all smaller ones, so
 * that a reader that resumes after the last id misses nothing. The calls of a dead process are closed as interrupted by
 * another process, at the latest when it next reads questions or jobs, or follows events for some seconds.
 */
export interface Store {
  /** Records an event, durable soon. Throws when it cannot be recorded. */
  append(event: ActivityEvent): void;
  /** Records an event. Resolves when it is durable; rejects when it cannot be recorded. */
  commit(event: ActivityEvent): Promise<void>;
  events(options?: FeedOptions): AsyncIterable<StoredEvent>;
  /** All threads, the one with the newest event last. */
  threads(): Promise<readonly ThreadSummary[]>;
  /**
   * Searches messages and results, newest first. Rejects with a RangeError for a text of 0 or over 1,000 characters.
   */
  search(options: SearchOptions): Promise<readonly SearchHit[]>;
  /** The open questions, oldest first. */
  questions(): Promise<readonly OpenQuestion[]>;
  /**
   * Answers a question if it is open, as one transaction: only the first answer counts. It is recorded as
   * `approval.decided`, which the asking toolkit follows. Rejects when it cannot be recorded.
   *
   * @param by Where the answer came from, for people.
   */
  answer(question: QuestionId, approval: Approval, by: string): Promise<AnswerOutcome>;
  /**
   * Parks a call whose question is open, or that `claim` has taken and that must be asked about again. Resolves when
   * that is durable, to "parked", or to how the question was closed before.
   */
  park(parking: Parking, claim?: string): Promise<{ readonly status: "parked" } | AnswerOutcome>;
  /** The parked calls, oldest first. */
  parked(filter?: ParkedFilter): Promise<readonly ParkedCall[]>;
  /** Moves a parked call, as one transaction. Rejects when it cannot be recorded, or nobody knows whether it was. */
  move(call: CallId, move: ParkedMove): Promise<MoveOutcome>;
  /**
   * Reports that people can answer questions through this process, until the returned function is called or the store
   * is closed. Repeated as a heartbeat: other processes notice the death of this one within 10 seconds.
   */
  attend(): Promise<() => Promise<void>>;
  /** Whether any process attends. */
  isAttended(): Promise<boolean>;
  /**
   * Takes a thread for a turn, which only one agent of all processes can have at a time. Waits until it is free.
   * Resolves to a function that gives it back, which never rejects; a process that ends gives back what it has taken.
   * Rejects with the signal's reason, and when it cannot be recorded.
   */
  takeThread(thread: ThreadId, signal: AbortSignal): Promise<() => Promise<void>>;
  /** The jobs of all processes, oldest first. */
  jobs(): Promise<readonly RecordedJob[]>;
  /** The server, where it also keeps memories and schedules. Default: they are files of this machine. */
  readonly url?: string;
  close(): Promise<void>;
}
