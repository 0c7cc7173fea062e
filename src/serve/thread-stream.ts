import { type ThreadMessage, createThreadView } from "../record/activity/messages.ts";
import type { Store, StoredEvent } from "../core/contract/activity.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { OpenQuestion } from "../core/contract/question.ts";
import { pause } from "../core/util/abort.ts";
import type { Draft, Question, StreamedMessage, Turn } from "./api-types.ts";
import type { Drafts } from "./drafts.ts";

/** How often a draft is sent, in milliseconds: it is sent whole each time. */
const DRAFT_MS = 50;

/** What a stream of a thread consists of. `id` is the event to resume after; absent for what is not recorded yet. */
export type StreamItem = { readonly id?: number } & (
  | { readonly event: "message"; readonly data: StreamedMessage | Draft }
  | { readonly event: "turn"; readonly data: Turn }
);

export interface ThreadStreamOptions {
  readonly thread: ThreadId;
  /** Only messages that events after this one made or changed. */
  readonly after: number;
  /** As in `ThreadViewOptions`. */
  readonly collapseRetries: boolean;
  /** Adds to a question what people need to answer it. */
  readonly describe: (question: OpenQuestion) => Question;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/**
 * Yields the messages of a thread as they are, then each one again when it changes; meanwhile, whole, what the model is
 * writing in this process; and the ends of turns. A draft never follows the recorded message of its reply.
 */
export async function* streamThread(
  { store, drafts }: { readonly store: Store; readonly drafts: Drafts },
  { thread, after, collapseRetries, describe, signal }: ThreadStreamOptions,
): AsyncGenerator<StreamItem> {
  const view = createThreadView({ collapseRetries });
  /** The drafts that were sent, as JSON; `undefined` once they are over. */
  const sent = new Map<string, string | undefined>();
  let last = 0;
  let turn: StoredEvent | undefined;

  const whole = async (message: ThreadMessage): Promise<StreamItem> => {
    const key = keyOf(message);
    sent.set(key, undefined);
    const question = message.role === "tool" ? message.question : undefined;
    const open = question && (await store.questions()).find((each) => each.question === question);
    return { event: "message", data: { ...message, key, ...(open && { open: describe(open) }) } };
  };

  const voided = (key: string): StreamItem => {
    sent.set(key, undefined);
    return { event: "message", data: { key, draft: true, role: "assistant", content: [] } };
  };

  const written = function* (): Generator<StreamItem> {
    for (const draft of drafts.of(thread)) {
      const { key, content } = draft;
      if (sent.has(key) && sent.get(key) === undefined) continue;
      const body = JSON.stringify(content);
      if (content.length === 0 && sent.has(key)) yield voided(key);
      if (content.length === 0) continue;
      if (sent.get(key) !== body) yield { event: "message", data: draft };
      sent.set(key, body);
      return; // the next reply follows once this one is recorded
    }
  };

  for await (const event of store.events({ thread, signal })) {
    if (event.type === "turn.ended") turn = event;
    view.add(event);
    last = event.id;
  }
  const known = view.messages;
  for (const message of known) sent.set(keyOf(message), undefined);
  const changed = known.filter((message) => message.changed > after);
  // Only the last one is to be resumed after: the messages are not in the order of their changes.
  for (const message of changed) yield { ...(await whole(message)), ...(message === changed.at(-1) && { id: last }) };
  if (turn !== undefined && turn.id > Math.max(after, known.at(-1)?.id ?? 0)) yield { ...turnItem(turn), id: last };
  yield* written();

  const events = store.events({ thread, after: last, follow: true, signal })[Symbol.asyncIterator]();
  const nextChange = async () => {
    await drafts.changed(thread, signal);
    await pause(DRAFT_MS, signal);
  };
  let change = nextChange();
  let next: Promise<IteratorResult<StoredEvent>> | undefined;
  while (!signal.aborted) {
    next ??= events.next();
    const result = await Promise.race([next, change]);
    if (result === undefined) {
      change = nextChange(); // first, so that none is missed
      yield* written();
      continue;
    }
    if (result.done === true) return;
    const event = result.value;
    next = undefined;
    const message = view.add(event);
    if (message !== undefined) yield { ...(await whole(message)), id: event.id };
    if (event.type !== "turn.ended") continue;
    for (const [key, body] of sent) if (body !== undefined) yield voided(key);
    yield turnItem(event);
  }
}

/** A recorded reply has the key of its draft. */
function keyOf(message: ThreadMessage): string {
  return message.role === "assistant" && message.reply !== undefined ? message.reply : String(message.id);
}

function turnItem(event: StoredEvent): StreamItem {
  const { type: _, thread: __, call: ___, id, ...turn } = event as Extract<StoredEvent, { type: "turn.ended" }>;
  return { event: "turn", id, data: turn };
}
