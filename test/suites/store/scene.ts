import type {
  ActivityEvent,
  CallEvent,
  FeedOptions,
  Store,
  StoredEvent,
  ThreadEvent,
} from "../../../src/core/contract/activity.ts";
import type { CasesOf } from "../../../src/core/util/test-cases.ts";

/** The environment of a test. */
export interface StoreScene {
  /** Initially empty. */
  readonly store: Store;
  /** Another connection to the same store. */
  open(): Promise<Store>;
}

export type StoreCases = CasesOf<StoreScene>;

/** The current time, since a store may remove old events. */
export const AT = Date.now();

/** An event without content. */
export function event(call: string, thread = "main"): CallEvent {
  return { call, thread, at: AT, type: "job.ended", job: "1", exit: { how: "aborted" } };
}

export function started(call: string, thread = "main"): CallEvent {
  return { call, thread, at: AT, type: "call.started", name: "bash", input: { command: `echo ${call}` } };
}

export function finished(call: string, thread = "main"): CallEvent {
  return { call, thread, at: AT + 1, type: "call.finished", status: "ok", content: [{ type: "text", text: "Done." }] };
}

export function asked(call: string, question: string): CallEvent {
  return {
    ...{ call, thread: "main", at: AT, type: "approval.requested", question },
    effects: [{ kind: "exec", command: "echo" }],
    decision: { verdict: "ask", risk: "medium" },
  };
}

export function created(thread: string): ThreadEvent {
  return { type: "thread.created", thread, at: AT, target: "local", workDir: `/w/${thread}` };
}

export function said(thread: string, text: string): ThreadEvent {
  return {
    ...{ type: "message.added", thread, at: AT + 5 },
    message: { role: "user", from: "person", content: [{ type: "text", text }] },
  };
}

/** All events of a store, or those that the options select. */
export async function all(store: Store, options?: FeedOptions): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const each of store.events(options)) events.push(each);
  return events;
}

/** Follows a store into a list, until it ends. */
export function follow(store: Store, options: FeedOptions = {}): { seen: StoredEvent[]; ended: Promise<void> } {
  const seen: StoredEvent[] = [];
  const ended = (async () => {
    for await (const each of store.events({ follow: true, ...options })) seen.push(each);
  })();
  return { seen, ended };
}

export const idsOf = (events: readonly StoredEvent[]) => events.map(({ id }) => id);

export const callsOf = (events: readonly ActivityEvent[]) => events.map(({ call }) => call);

export function withoutId({ id: _, ...rest }: StoredEvent): object {
  return rest;
}
