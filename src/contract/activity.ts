import type { CallId, ThreadId } from "./identity.ts";
import type { Alarm, Refusal } from "./containment.ts";
import type { Effect } from "./effect.ts";
import type { Approval, Decision } from "./decision.ts";
import type { Exit } from "./backend.ts";
import type { RecordedJob } from "./job.ts";
import type { Message } from "./message.ts";
import type { AnswerOutcome, OpenQuestion, QuestionId } from "./question.ts";
import type { ToolStatus } from "./result.ts";
import type { Json } from "./schema.ts";
import type { JobLifetime } from "./lifetime.ts";

/** What happened, before a store has numbered it. Events are facts: noun and past participle. */
export type ActivityEvent = CallEvent | ThreadEvent;

/** What happened to a thread. */
export type ThreadEvent = {
  readonly call?: undefined;
  readonly thread: ThreadId;
  /** Milliseconds since 1970. */
  readonly at: number;
} &
  /** `target` is the name of the backend; `parent` the call that started the thread, if one did. */
  (
    | { readonly type: "thread.created"; readonly target: string; readonly workDir: string; readonly parent?: CallId }
    | { readonly type: "message.added"; readonly message: Message }
    /** Somebody wants the thread stopped: its running calls and the turn of its agent. Its jobs continue. */
    | { readonly type: "stop.requested"; readonly by: string }
  );

/** What happened to a call. */
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
      /** The tool's parameters in words; left out where there is no such tool. */
      readonly paramsHint?: string;
      readonly parent?: CallId;
    }
  /** The policy's word on it, and a person's. Durable before an act runs. `userFacing: false`: no app draws this call. */
  | {
      readonly type: "call.approved";
      readonly effects: readonly Effect[];
      readonly decision: Decision;
      readonly userFacing: boolean;
    }
  /** A person is asked about the call. The question is open until it is answered or the call has finished. */
  | {
      readonly type: "approval.requested";
      readonly question: QuestionId;
      readonly effects: readonly Effect[];
      readonly decision: Decision;
    }
  /** The one answer to a question. `by`: through what it was given, as people are shown it: "terminal", "MCP client". */
  | {
      readonly type: "approval.decided";
      readonly question: QuestionId;
      readonly approval: Approval;
      readonly by: string;
    }
  /** Somebody wants the call stopped or, with `job`, that job of the call. `by` as in `approval.decided`. */
  | { readonly type: "stop.requested"; readonly by: string; readonly job?: string }
  | { readonly type: "call.updated"; readonly update: CallUpdate }
  /** The call's cell was changed from outside, perhaps after the end of the call. */
  | { readonly type: "activity.updated"; readonly change: ActivityChange }
  | {
      readonly type: "call.finished";
      /** "interrupted": the process that ran it has died; whoever opened the store next says so. Nothing is run again by itself. */
      readonly status: ToolStatus | "interrupted";
      /** For people, at most 200 characters; the result has all of it. */
      readonly error?: string;
      readonly data?: Json;
      /** What the model read: secrets masked, at most 65,536 characters. */
      readonly content?: readonly RecordedContent[];
    }
  /** The call put a command into the background; it goes on when the call has ended. */
  | { readonly type: "job.started"; readonly job: string; readonly command: string; readonly lifetime: JobLifetime }
  | { readonly type: "job.ended"; readonly job: string; readonly exit: Exit }
  /** The sandbox kept a command of the call, or this job of it, from something. It says nothing of how the call ends. */
  | { readonly type: "sandbox.refused"; readonly refusals: readonly Refusal[]; readonly job?: string }
  /** That happened more often than is usual: somebody may want to look. Nothing was stopped because of it. */
  | ({ readonly type: "sandbox.alarmed" } & Alarm)
);

export type ActivityEventType = ActivityEvent["type"];

/** An event as a store keeps it. */
export type StoredEvent = ActivityEvent & {
  /** Counts up in a store, without repeating: a place to resume from. */
  readonly id: number;
};

/** What a running tool tells people. */
export interface CallUpdate {
  /** One line about what it is doing; `null` takes it away. Gone when the call ends. */
  readonly displayMessage?: string | null;
  /** Merged into the activity's data. */
  readonly data?: { readonly [key: string]: Json };
  /** More of its live output. */
  readonly output?: string;
}

/** What somebody changes in a call's cell. Fields that are left out stay as they are. */
export interface ActivityChange {
  /** Shown while the call runs; ignored after its end. */
  readonly display_message?: string;
  readonly error?: string;
  /** Merged into the activity's data. */
  readonly data?: { readonly [key: string]: Json };
  /** Fields that are deleted. */
  readonly deleted?: readonly ("display_message" | "error")[];
}

/** One part of what a model read, as the record keeps it. */
export type RecordedContent =
  | { readonly type: "text"; readonly text: string }
  /** `output` is the id of the saved output that holds the image; left out where it could not be saved. `bytes` is its size. */
  | { readonly type: "image"; readonly mimeType: string; readonly bytes: number; readonly output?: string };

export interface FeedOptions {
  /** Only events after this id. "now": only those that come later. Default 0: all that are kept. */
  readonly after?: number | "now";
  /** Only events of these types. Default: all. */
  readonly types?: readonly ActivityEventType[];
  readonly thread?: ThreadId;
  readonly call?: CallId;
  /** True: only what happened to threads themselves: their creation and their messages. Default false. */
  readonly messages?: boolean;
  /** Go on with new events as they come, until the signal fires or the store closes. Default false. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** A thread as a list of threads shows it. */
export interface ThreadSummary {
  readonly thread: ThreadId;
  /** Left out for a thread of calls that nobody created, such as "main". */
  readonly target?: string;
  readonly workDir?: string;
  readonly parent?: CallId;
  /** The beginning of the first message of a person, at most 200 characters. */
  readonly title?: string;
  /** When its first event happened, and its newest. Milliseconds since 1970. */
  readonly createdMs: number;
  readonly changedMs: number;
}

export interface SearchOptions {
  /** What to look for, at most 1,000 characters. Of ASCII letters either case matches. */
  readonly text: string;
  readonly thread?: ThreadId;
  /** How many hits to return at most. Default 50. */
  readonly limit?: number;
}

/** A message or a call that holds the text that was searched for. */
export interface SearchHit {
  readonly thread: ThreadId;
  /** The event that holds it. */
  readonly id: number;
  /** Left out for a message of a person or a model. */
  readonly call?: CallId;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The text around the first match, at most 200 characters. */
  readonly excerpt: string;
}

/**
 * Keeps events in order. Several processes may share a store: an id becomes visible only after all smaller ones, so that whoever reads on from
 * the last id misses nothing. What a dead process left in progress is closed as interrupted by a living one, at the latest when it next reads
 * questions or jobs, or follows the events for some seconds.
 */
export interface Store {
  /** Takes the event; durable soon. Throws when it cannot be kept. */
  append(event: ActivityEvent): void;
  /** Takes the event; durable when the promise resolves. Rejects when it cannot be kept. */
  commit(event: ActivityEvent): Promise<void>;
  events(options?: FeedOptions): AsyncIterable<StoredEvent>;
  /** All threads, the one with the newest event last. */
  threads(): Promise<readonly ThreadSummary[]>;
  /** Searches what people and models wrote and read, the newest first. Rejects with a RangeError for a text of 0 or over 1,000 characters. */
  search(options: SearchOptions): Promise<readonly SearchHit[]>;
  /** The questions that are open, the oldest first. */
  questions(): Promise<readonly OpenQuestion[]>;
  /**
   * Answers a question if it is open, as one transaction: of several answers one counts. That one is recorded as `approval.decided`, which the
   * toolkit that asked follows. Rejects when it cannot be recorded.
   *
   * @param by through what the answer was given, as people are shown it
   */
  answer(question: QuestionId, approval: Approval, by: string): Promise<AnswerOutcome>;
  /**
   * Reports that people can answer questions through this process, until the returned function is called or the store is closed. It is repeated
   * as a heartbeat: other processes notice the death of this one within 10 seconds.
   */
  attend(): Promise<() => Promise<void>>;
  /** True while some process attends. */
  isAttended(): Promise<boolean>;
  /** The jobs that calls of all processes have started, the oldest first. */
  jobs(): Promise<readonly RecordedJob[]>;
  close(): Promise<void>;
}
