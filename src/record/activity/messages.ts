import type { RecordedContent, Store, StoredEvent } from "../../core/contract/activity.ts";
import type { Content } from "../../core/contract/content.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Approval } from "../../core/contract/decision.ts";
import type { AssistantPart, MessageStatus } from "../../core/contract/message.ts";
import type { QuestionId } from "../../core/contract/question.ts";
import { clip } from "../../core/util/text.ts";
import { MAX_ERROR, type ToolMessage, foldMessage } from "./fold.ts";

/** A message of a thread as apps show it. */
export type ThreadMessage = {
  /** The id of the event that made the message. Messages are in the order of these ids. */
  readonly id: number;
  /** The id of the event that last changed the message. */
  readonly changed: number;
  readonly thread: ThreadId;
  /** When the message was made. Milliseconds since 1970. */
  readonly at: number;
} & (
  | { readonly role: "user"; readonly from: "person" | "handrail"; readonly content: readonly Content[] }
  | { readonly role: "assistant"; readonly content: readonly AssistantPart[]; readonly reply?: string }
  | CallMessage
);

/** The message of a call. With `userFacing: false`, apps do not show it. */
export type CallMessage = ToolMessage & {
  readonly role: "tool";
  /** The call that made this one. */
  readonly parent?: CallId;
  /** The open question about the call. */
  readonly question?: QuestionId;
  /** A person's answer, where it came from, and when. */
  readonly answered?: { readonly approval: Approval; readonly by: string; readonly at: number };
  /** Where a request to stop the call came from, and when. */
  readonly stopped?: { readonly by: string; readonly at: number };
  /** How the call ended, in more detail than the activity's status, and when. */
  readonly result?: MessageStatus;
  readonly endedMs?: number;
  /** The result as the model read it. */
  readonly content?: readonly RecordedContent[];
};

export interface ThreadViewOptions {
  /**
   * True: a retry (the same tool, within five minutes after it failed) reuses the failed call's message, and its
   * activity has `retry_count` and `retry_history`. Default false.
   */
  readonly collapseRetries?: boolean;
  /** Known messages, in order: the view continues after them. Default: none. */
  readonly messages?: readonly ThreadMessage[];
}

/** The messages of one thread, as a fold of its events. */
export interface ThreadView {
  /** The messages, in order. */
  readonly messages: readonly ThreadMessage[];
  /** Takes the next event of the thread. Returns the message that it made or changed, if any. */
  add(event: StoredEvent): ThreadMessage | undefined;
}

const RETRY_MS = 5 * 60_000;

export function createThreadView({
  collapseRetries = false,
  messages: known = [],
}: ThreadViewOptions = {}): ThreadView {
  const messages = new Map<number, ThreadMessage>();
  /** The id of the message for each call. */
  const ids = new Map<CallId, number>();
  /** Calls as the model wrote them, because a call that never started has no events. */
  const written = new Map<CallId, Extract<AssistantPart, { type: "call" }>>();
  /** The last call of each tool, if it failed. */
  const failed = new Map<string, { readonly id: number; readonly at: number }>();

  const put = (message: ThreadMessage): ThreadMessage => {
    messages.set(message.id, message);
    if (message.role === "tool") ids.set(message.metadata.tool_activity.id, message.id);
    if (message.role !== "assistant") return message;
    for (const part of message.content) if (part.type === "call") written.set(part.id, part);
    return message;
  };
  for (const message of known) put(message);

  const messageOf = (call: CallId) => {
    const message = messages.get(ids.get(call) ?? 0);
    return message?.role === "tool" ? message : undefined;
  };

  const start = (event: Extract<StoredEvent, { type: "call.started" }>): ThreadMessage | undefined => {
    const { id, at, parent } = event;
    const message = foldMessage(undefined, event);
    if (message === undefined) return undefined;
    const before = collapseRetries ? failed.get(event.name) : undefined;
    const earlier = before !== undefined && at - before.at <= RETRY_MS ? messages.get(before.id) : undefined;
    const retried = earlier?.role === "tool" ? withHistory(message, earlier) : message;
    const base = { id: earlier?.id ?? id, changed: id, at: earlier?.at ?? at, role: "tool" } as const;
    return put({ ...retried, ...base, ...(parent !== undefined && { parent }) });
  };

  const say = (event: Extract<StoredEvent, { type: "message.added" }>): ThreadMessage | undefined => {
    const { id, at, thread, message } = event;
    const base = { id, changed: id, thread, at };
    if (message.role === "user") return put({ ...base, role: "user", from: message.from, content: message.content });
    if (message.role === "assistant") {
      const { reply } = message;
      const content = message.content.map(withoutProvider);
      return put({ ...base, role: "assistant", content, ...(reply !== undefined && { reply }) });
    }
    const { call, status } = message;
    const part = written.get(call);
    if (part === undefined || ids.has(call)) return undefined; // the call's events have the details
    const content = message.content.flatMap((each) => (each.type === "text" ? [each] : []));
    const activity = {
      ...{ id: call, name: part.name, input: part.input, data: {} },
      // A forked thread has the results of calls that were made in the original thread.
      ...(status === "ok"
        ? { status: "success" as const }
        : { status: "failure" as const, error: clip(content.map(({ text }) => text).join("\n"), MAX_ERROR) }),
    };
    return put({
      ...{ ...base, role: "tool", userFacing: true, result: status, endedMs: at, content },
      metadata: { tool_activity: activity },
    });
  };

  const change = (event: Extract<StoredEvent, { call: CallId }>): ThreadMessage | undefined => {
    const message = messageOf(event.call);
    // A call whose message a retry reused no longer has a message.
    if (message === undefined || message.metadata.tool_activity.id !== event.call) return undefined;
    const next = afterEvent(message, event);
    if (next === message) return undefined;
    const { status, name } = next.metadata.tool_activity;
    if (event.type === "call.finished" && status === "failure") failed.set(name, { id: next.id, at: event.at });
    if (event.type === "call.finished" && status === "success") failed.delete(name);
    return put({ ...next, changed: event.id });
  };

  return {
    get messages() {
      return [...messages.values()];
    },
    add(event) {
      if (event.type === "call.started") return start(event);
      if (event.type === "message.added") return say(event);
      return event.call === undefined ? undefined : change(event);
    },
  };
}

/** Returns the same message when the event changes nothing that is shown. */
function afterEvent<M extends CallMessage>(message: M, event: StoredEvent): M {
  switch (event.type) {
    case "approval.requested":
      return { ...message, question: event.question };
    case "approval.decided": {
      const { approval, by, at } = event;
      return { ...without(message, "question"), answered: { approval, by, at } };
    }
    case "stop.requested":
      if (event.call === undefined || event.job !== undefined || message.result !== undefined) return message;
      return { ...message, stopped: { by: event.by, at: event.at } };
    case "call.updated":
      if (event.update.displayMessage === undefined && event.update.data === undefined) return message;
      return { ...message, ...foldMessage(message, event) };
    case "call.finished": {
      if (message.result !== undefined) return message;
      const { status, at, content } = event;
      const ended = { result: status, endedMs: at, ...(content !== undefined && { content }) };
      const answered = without(message, "question");
      return { ...answered, ...foldMessage(answered, event), ...ended };
    }
    case "activity.updated":
      return { ...message, ...foldMessage(message, event) };
    default:
      return message;
  }
}

function without<M extends CallMessage>(message: M, field: "question"): M {
  const { [field]: _, ...rest } = message;
  return rest as M;
}

/** A provider's opaque data is useless to people. */
function withoutProvider({ provider: _, ...part }: AssistantPart): AssistantPart {
  return part;
}

function withHistory(message: ToolMessage, earlier: ToolMessage): ToolMessage {
  const { id, input, error, retry_count = 0, retry_history = [] } = earlier.metadata.tool_activity;
  const activity = {
    ...message.metadata.tool_activity,
    retry_count: retry_count + 1,
    retry_history: [...retry_history, { id, input, ...(error !== undefined && { error }) }],
  };
  return { ...message, metadata: { tool_activity: activity } };
}

export interface ReadThreadOptions extends Omit<ThreadViewOptions, "messages"> {
  /** Only messages that events after this one made or changed. Default 0: all messages. */
  readonly after?: number;
}

/** Reads the messages of a thread, in order. */
export async function readThread(
  store: Pick<Store, "events">,
  thread: ThreadId,
  { after = 0, ...options }: ReadThreadOptions = {},
): Promise<readonly ThreadMessage[]> {
  const view = createThreadView(options);
  for await (const event of store.events({ thread })) view.add(event);
  return view.messages.filter(({ changed }) => changed > after);
}

/**
 * Yields the messages of a thread, and each one again when it changes, until the signal fires or the store is closed.
 */
export async function* followThread(
  store: Pick<Store, "events">,
  thread: ThreadId,
  { after = 0, signal, ...options }: ReadThreadOptions & { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ThreadMessage> {
  const view = createThreadView(options);
  let last = 0;
  for await (const event of store.events({ thread })) {
    view.add(event);
    last = event.id;
  }
  yield* view.messages.filter(({ changed }) => changed > after);
  for await (const event of store.events({ thread, after: last, follow: true, ...(signal && { signal }) })) {
    const message = view.add(event);
    if (message !== undefined) yield message;
  }
}

/** Finds the message of a call by the id of its activity. `undefined` for an unknown call. */
export async function findToolMessage(
  store: Pick<Store, "events">,
  call: CallId,
): Promise<(ThreadMessage & CallMessage) | undefined> {
  const view = createThreadView();
  for await (const event of store.events({ call })) view.add(event);
  const [message] = view.messages;
  return message?.role === "tool" ? message : undefined;
}
