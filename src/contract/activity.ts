import type { CallId, ThreadId } from "./identity.ts";
import type { Alarm, Refusal } from "./containment.ts";
import type { Effect } from "./effect.ts";
import type { Approval, Decision } from "./decision.ts";
import type { Exit } from "./backend.ts";
import type { Message } from "./message.ts";
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
      readonly parent?: CallId;
    }
  /** The policy's word on it, and a person's. Durable before an act runs. `userFacing: false`: no app draws this call. */
  | {
      readonly type: "call.approved";
      readonly effects: readonly Effect[];
      readonly decision: Decision;
      readonly userFacing: boolean;
    }
  | { readonly type: "approval.requested"; readonly effects: readonly Effect[]; readonly decision: Decision }
  | { readonly type: "approval.decided"; readonly approval: Approval }
  | { readonly type: "call.updated"; readonly update: CallUpdate }
  | {
      readonly type: "call.finished";
      /** "interrupted": the process that ran it has died; whoever opened the store next says so. Nothing is run again by itself. */
      readonly status: ToolStatus | "interrupted";
      /** For people, at most 200 characters; the result has all of it. */
      readonly error?: string;
      readonly data?: Json;
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

export interface FeedOptions {
  /** Only events after this id. Default 0: all that are kept. */
  readonly after?: number;
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
  readonly target: string;
  readonly workDir: string;
  readonly parent?: CallId;
  /** When it was created, and when its newest event happened. Milliseconds since 1970. */
  readonly createdMs: number;
  readonly changedMs: number;
}

/** Keeps events in order. */
export interface Store {
  /** Takes the event; durable soon. Throws when it cannot be kept. */
  append(event: ActivityEvent): void;
  /** Takes the event; durable when the promise resolves. Rejects when it cannot be kept. */
  commit(event: ActivityEvent): Promise<void>;
  events(options?: FeedOptions): AsyncIterable<StoredEvent>;
  /** The threads that were created, the one with the newest event last. */
  threads(): Promise<readonly ThreadSummary[]>;
  close(): Promise<void>;
}
