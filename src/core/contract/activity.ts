import type { CallId, ThreadId } from "./identity.ts";
import type { Alarm, Refusal } from "./containment.ts";
import type { Effect } from "./effect.ts";
import type { Approval, Decision, Verdict } from "./decision.ts";
import type { Exit } from "./backend.ts";
import type { RecordedJob } from "./job.ts";
import type { Message } from "./message.ts";
import type { MoveOutcome, ParkedCall, ParkedFilter, ParkedMove, Parking } from "./parked.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "./question.ts";
import type { ToolResult, ToolStatus } from "./result.ts";
import type { Json } from "./schema.ts";
import type { JobLifetime } from "./lifetime.ts";
import type { SeenVersion } from "./seen.ts";
import type { WorkerStore } from "./worker.ts";

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
   * A thread begins. `target` is the name of the backend; `parent` is the call that started the thread, if any;
   * `startedWith` is what the program that started the thread needs to continue it in the same way; `fork` is the
   * thread whose first messages this one began with.
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
    /** A message of the conversation: of a person, of Handrail (a notice) or of the model. */
    | { readonly type: "message.added"; readonly message: Message }
    /**
     * A person's message for the agent that has the thread, in this process or another. That agent adds it between two
     * rounds. If no agent has the thread, the agent that offers the message adds it once it has the thread. Without
     * `message` the offer is withdrawn.
     */
    | { readonly type: "message.offered"; readonly offer: string; readonly message?: Message }
    /** A request to stop the thread's running calls and the turn of its agent. Its jobs continue. */
    | { readonly type: "stop.requested"; readonly by: string }
    /**
     * A turn of the thread's agent has ended. `message` gives the cause, except for "done" and "stopped". `spent`:
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
} &
  /** A call begins. Its arguments are as the model wrote them, secrets masked. */
  (
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
        /**
         * The W3C `traceparent` of the call's span, if calls are traced: another process that runs it continues there.
         */
        readonly trace?: string;
      }
    /** The decision of the policy and the person. It is durable before an act runs. */
    | {
        readonly type: "call.approved";
        readonly effects: readonly Effect[];
        readonly decision: Decision;
      }
    /**
     * Hooks decided or changed something: `input` are the arguments as they changed them, `context` texts for the
     * model.
     */
    | {
        readonly type: "call.hooked";
        readonly event: "PreToolUse" | "PostToolUse";
        readonly by: readonly string[];
        readonly verdict?: Verdict;
        readonly reason?: string;
        readonly input?: Json;
        readonly context: readonly string[];
      }
    /** A person is asked about the call. The question is open until it is answered or the call has finished. */
    | {
        readonly type: "approval.requested";
        readonly question: QuestionId;
        readonly effects: readonly Effect[];
        readonly decision: Decision;
      }
    /** The one answer to a question. `by`: where the answer came from, for people: "terminal", "MCP client". */
    | {
        readonly type: "approval.decided";
        readonly question: QuestionId;
        readonly approval: Approval;
        readonly by: string;
      }
    /**
     * Nobody has answered, and no process waits any more. The question stays open until `untilMs`. `changed`: what has
     * changed since the call was approved.
     */
    | {
        readonly type: "call.parked";
        readonly question: QuestionId;
        readonly untilMs: number;
        readonly changed?: readonly string[];
      }
    /** The call waits for a worker: "worker:build". */
    | {
        readonly type: "call.delivered";
        readonly target: string;
        /** The worker that is asked first. Another one may take the call. */
        readonly worker?: string;
      }
    /**
     * One process has claimed the parked call, or the worker with this id a call that was delivered to it. It runs the
     * call if the call is still what was approved.
     */
    | { readonly type: "call.taken"; readonly worker?: string }
    /** A request to stop the call. With `job`, to stop only that job of the call. `by` as in `approval.decided`. */
    | { readonly type: "stop.requested"; readonly by: string; readonly job?: string }
    /** What the running call reports: a message for people, data of its cell, or a piece of its output. */
    | { readonly type: "call.updated"; readonly update: CallUpdate }
    /** The call's cell was changed from outside the call, perhaps after the call ended. */
    | { readonly type: "activity.updated"; readonly change: ActivityChange }
    /** A call has ended: the last event of every call. */
    | {
        readonly type: "call.finished";
        /**
         * "interrupted": the call's process died, and the next process that opens the store records this. Nothing runs
         * again.
         */
        readonly status: Exclude<ToolStatus, "parked"> | "interrupted";
        /** For people, at most 200 characters; the result has the whole text. */
        readonly error?: string;
        readonly data?: Json;
        /** What the model read: secrets masked, at most 65,536 characters. */
        readonly content?: readonly RecordedContent[];
        /**
         * The result for the caller of a call that a worker made, where `data` and `content` are not all of it. Absent
         * also above 4 MB.
         */
        readonly result?: ToolResult;
        /** The files that a call made by a worker has read or written. Its caller passes them on with later calls. */
        readonly seen?: readonly SeenVersion[];
      }
    /** The call started a background command that outlives the call. */
    | { readonly type: "job.started"; readonly job: string; readonly command: string; readonly lifetime: JobLifetime }
    /** A background command has ended. */
    | { readonly type: "job.ended"; readonly job: string; readonly exit: Exit }
    /** A request to write to the stdin of a job. It is judged as a call of the tool `jobs` whose id is `request`. */
    | ({ readonly type: "input.requested" } & JobInput)
    /** A request to record the last lines of a job as `job.output`, for 30 seconds. `by` as in `approval.decided`. */
    | { readonly type: "job.watched"; readonly job: string; readonly by: string }
    /** The last lines of a watched job, at most 4,096 bytes: after a request, and after changes, once a second. */
    | { readonly type: "job.output"; readonly job: string; readonly text: string }
    /**
     * A person asks to open a port of a job in the sandbox. The process that runs the job answers with `port.opened`.
     */
    | { readonly type: "port.requested"; readonly job: string; readonly port: number; readonly by: string }
    /** The answer: the address for a browser on this machine (`Process.openPort`), or why the port cannot be opened. */
    | {
        readonly type: "port.opened";
        readonly job: string;
        readonly port: number;
        readonly url?: string;
        readonly problem?: string;
      }
    /** The sandbox refused something to a command or to a job of the call. The call may still succeed. */
    | { readonly type: "sandbox.refused"; readonly refusals: readonly Refusal[]; readonly job?: string }
    /** The sandbox refused unusually many things. Nothing was stopped because of it. */
    | ({ readonly type: "sandbox.alarmed" } & Alarm)
  );

/** What a person writes to a job of another process. */
export interface JobInput {
  readonly job: string;
  /** The id of the call that writes the input. */
  readonly request: CallId;
  readonly text: string;
  /** Whether the job's stdin ends after this input. */
  readonly end?: boolean;
  readonly by: string;
}

export type ActivityEventType = ActivityEvent["type"];

/** An event as a store keeps it. */
export type StoredEvent = ActivityEvent & {
  /** The number grows within a store and never repeats: a position to resume from. */
  readonly id: number;
};

/** What a running tool reports to people. */
export interface CallUpdate {
  /** One line about what the tool is doing; `null` removes it. It is removed when the call ends. */
  readonly displayMessage?: string | null;
  /** How much is done, of how much in all if that is known. In any unit; `done` grows. */
  readonly progress?: { readonly done: number; readonly total?: number };
  /** Merged into the activity's data. */
  readonly data?: { readonly [key: string]: Json };
  /** More of the tool's live output. */
  readonly output?: string;
}

/** A change of a call's cell from outside the call. Absent fields stay the same. */
export interface ActivityChange {
  /** Shown while the call runs. */
  readonly display_message?: string;
  readonly error?: string;
  /** Merged into the activity's data. */
  readonly data?: { readonly [key: string]: Json };
  /** Fields to delete. */
  readonly deleted?: readonly ("display_message" | "error")[];
}

/** One part of a recorded result. Audio and resources are recorded as the text that a model reads. */
export type RecordedContent =
  | { readonly type: "text"; readonly text: string }
  /** `output` is the id of the saved output with the image; absent if it was not saved. `bytes` is its size. */
  | { readonly type: "image"; readonly mimeType: string; readonly bytes: number; readonly output?: string };

export interface FeedOptions {
  /** Only events after this id; "now": only new events. Default 0: all kept events. */
  readonly after?: number | "now";
  /** Only events of these types. Default: all. */
  readonly types?: readonly ActivityEventType[];
  readonly thread?: ThreadId;
  readonly call?: CallId;
  /** Only events of threads themselves: their creation and messages. Default false. */
  readonly messages?: boolean;
  /** Whether to continue with new events until the signal fires or the store closes. Default false. */
  readonly follow?: boolean;
  /** Called once, when it is settled which events follow: what is read from then on includes all earlier ones. */
  readonly begun?: () => void;
  readonly signal?: AbortSignal;
}

/** An entry in a list of threads. */
export interface ThreadSummary {
  readonly thread: ThreadId;
  /** Absent for a thread that was not created explicitly, such as "main". */
  readonly target?: string;
  readonly workDir?: string;
  readonly parent?: CallId;
  /** As recorded by the program that started the thread. The command line records its options. */
  readonly startedWith?: { readonly [name: string]: string };
  /** The thread whose first messages this one began with. */
  readonly fork?: ThreadId;
  /** The beginning of the first message of a person, at most 200 characters. */
  readonly title?: string;
  /** When the thread's first and newest events happened, in milliseconds since 1970. */
  readonly createdMs: number;
  readonly changedMs: number;
}

/** A thread, and the events that its present state follows from. */
export interface ThreadTail {
  readonly summary: ThreadSummary;
  /** How many calls were made in it. */
  readonly calls: number;
  /**
   * In order: the begins, questions, answers and ends of its three newest calls and of those that run (of a process:
   * among its newest 1,000), the thread's newest event, the newest of its messages, begun calls and ended turns, and
   * the newest of its users' messages and ended turns.
   */
  readonly events: readonly StoredEvent[];
}

export interface SearchOptions {
  /** The text to search for, at most 1,000 characters. ASCII letters match in both cases. */
  readonly text: string;
  readonly thread?: ThreadId;
  /** Only events before this id: `next.before` of the last result. Default: all. */
  readonly before?: number;
  /** The maximum number of hits. Default 50. */
  readonly limit?: number;
}

/** What a search has found so far. */
export interface StoreSearch {
  /** Newest first. */
  readonly hits: readonly SearchHit[];
  /**
   * Where to continue: the same search with this `before` finds older hits. `at`: everything since then was searched,
   * in milliseconds since 1970. Absent when everything was searched.
   */
  readonly next?: { readonly before: number; readonly at: number };
}

/** A message or call that contains the searched text. */
export interface SearchHit {
  readonly thread: ThreadId;
  /** The id of the event that contains the text. */
  readonly id: number;
  /** Absent for a message of a person or a model. */
  readonly call?: CallId;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The text around the first match, at most 200 characters. */
  readonly excerpt: string;
}

/** How a store fares. */
export interface StoreHealth {
  /** How many live processes have written to the store and have not closed it. */
  readonly processes: number;
  /** How often this process has failed to write events since it opened the store. Such events wait and are retried. */
  readonly failedWrites: number;
}

/**
 * Keeps events in order. Several processes may share a store: an id becomes visible only after all smaller ids, so that
 * a reader that resumes after the last id misses nothing. Another process closes the calls of a dead process as
 * interrupted: at the latest when it next reads questions or jobs, or follows events for some seconds.
 */
export interface Store {
  /** Records an event, which soon becomes durable. Throws when the event cannot be recorded. */
  append(event: ActivityEvent): void;
  /** Records an event. Resolves when the event is durable; rejects when it cannot be recorded. */
  commit(event: ActivityEvent): Promise<void>;
  events(options?: FeedOptions): AsyncIterable<StoredEvent>;
  /** All threads. The thread with the newest event comes last. */
  threads(): Promise<readonly ThreadSummary[]>;
  /**
   * All threads with their newest events, and the newest event included: those after it are not. Takes as long for long
   * threads as for short ones. Absent where reading all events is as fast.
   */
  tails?(): Promise<{ readonly tails: readonly ThreadTail[]; readonly last: number }>;
  /**
   * Searches messages and results, newest first, until it has enough hits or has searched much (a database: 64 MB of
   * events). Rejects with a RangeError for a text of 0 or over 1,000 characters.
   */
  search(options: SearchOptions): Promise<StoreSearch>;
  /** The open questions, oldest first. */
  questions(): Promise<readonly OpenQuestion[]>;
  /**
   * Answers a question if it is open, as one transaction: only the first answer counts. The answer is recorded as
   * `approval.decided`, which the asking toolkit follows. Rejects when the answer cannot be recorded.
   *
   * @param by Where the answer came from, for people.
   */
  answer(question: QuestionId, approval: Approval, by: string): Promise<AnswerOutcome>;
  /**
   * Parks a call whose question is open. With `claim`, parks a call that this claim has taken and that must be asked
   * about again. Resolves when that is durable: to "parked", or to how the question was closed before.
   */
  park(parking: Parking, claim?: string): Promise<{ readonly status: "parked" } | AnswerOutcome>;
  /** The parked calls, oldest first. */
  parked(filter?: ParkedFilter): Promise<readonly ParkedCall[]>;
  /** Moves a parked call, as one transaction. Rejects when the move cannot be recorded, or may have been recorded. */
  move(call: CallId, move: ParkedMove): Promise<MoveOutcome>;
  /**
   * Reports that people can answer questions through this process, until the returned function is called or the store
   * is closed. Repeated as a heartbeat: other processes notice the death of this one within 10 seconds.
   */
  attend(): Promise<() => Promise<void>>;
  /** Whether any process reports that people can answer through it (`attend`). */
  isAttended(): Promise<boolean>;
  /**
   * Takes a thread for a turn. Only one agent of all processes can have a thread at a time: waits until it is free.
   * Resolves to a function that gives the thread back and never rejects. A process that ends gives back its threads.
   * Rejects with the signal's reason, and when the event cannot be recorded.
   */
  takeThread(thread: ThreadId, signal: AbortSignal): Promise<() => Promise<void>>;
  /** The jobs of all processes, oldest first. */
  jobs(): Promise<readonly RecordedJob[]>;
  /** Absent in stores that are neither shared nor written to a disk. */
  health?(): Promise<StoreHealth>;
  /** The database server, which then keeps memories and schedules too. Default: files of this machine. */
  readonly url?: string;
  /** Calls that workers make. Absent in a store of one process. */
  readonly workers?: WorkerStore;
  close(): Promise<void>;
}
