import type { ActivityEvent, RecordedContent } from "../../core/contract/activity.ts";
import type { ThreadId } from "../../core/contract/identity.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { EventColumns, Work } from "../db/work.ts";

/**
 * A row of the database: the columns for lookups, and the event as JSON. `call` is the call's key, or `threadKey` for
 * an event of a thread: rows with the same key are removed together.
 */
export type EventRow = EventColumns;

/**
 * Makes the row of an event. The event is serialized at once, because a tool may change its input and data later: 1 to
 * 2 µs for a typical event.
 *
 * @throws TypeError for a value that is not an event or not JSON.
 */
export function rowOf(event: ActivityEvent): EventRow {
  const { thread, at, type } = event;
  const call = "call" in event ? event.call : threadKey(thread);
  if (typeof call !== "string" || typeof thread !== "string" || typeof type !== "string" || !Number.isFinite(at)) {
    throw new TypeError(
      `expected an event with call, thread and type as text and at in milliseconds, got ${JSON.stringify(event)}`,
    );
  }
  return { call: keyOf(call), thread: keyOf(thread), at, type, body: bodyOf(event), facet: facetOf(event) };
}

/** A shorter text is written twice: that takes less time than looking for it. In UTF-16 units. */
const SHORTEST_REPEATED = 1_024;

/** What is written for a part of a result that begins with a text of its data: the name of that text, and the rest. */
interface Repeated {
  readonly type: "text";
  readonly of: string;
  readonly more: string;
}

/** The event as JSON. What the model read of a file is often also a text of the data, and is then written once. */
function bodyOf(event: ActivityEvent): string {
  if (event.type !== "call.finished" || event.content === undefined) return JSON.stringify(event);
  const texts = Object.entries(fieldsOf(event.data)).filter(
    (field): field is [string, string] => typeof field[1] === "string" && field[1].length >= SHORTEST_REPEATED,
  );
  if (texts.length === 0) return JSON.stringify(event);
  const content = event.content.map((part): RecordedContent | Repeated => {
    const [of, text = ""] = (part.type === "text" && texts.find((field) => part.text.startsWith(field[1]))) || [];
    return part.type === "text" && of !== undefined ? { type: "text", of, more: part.text.slice(text.length) } : part;
  });
  return JSON.stringify({ ...event, content });
}

/**
 * Returns the event of a row.
 *
 * @throws SyntaxError for a body that is not JSON.
 */
export function eventOf(body: string): ActivityEvent {
  const event = JSON.parse(body) as ActivityEvent;
  if (event.type !== "call.finished" || event.content === undefined) return event;
  const texts = fieldsOf(event.data);
  const content = (event.content as readonly (RecordedContent | Repeated)[]).map((part) =>
    "of" in part ? ({ type: "text", text: `${String(texts[part.of])}${part.more}` } as const) : part,
  );
  return Object.assign(event, { content });
}

function fieldsOf(data: Json | undefined): { readonly [field: string]: unknown } {
  return typeof data === "object" && data !== null && !Array.isArray(data)
    ? (data as { readonly [field: string]: unknown })
    : {};
}

function facetOf(event: ActivityEvent): string | null {
  switch (event.type) {
    case "approval.requested":
    case "approval.decided":
      return keyOf(event.question);
    case "call.delivered":
      return event.worker ?? null;
    case "job.started":
      return event.lifetime;
    case "message.added":
      return event.message.role === "user" ? (event.message.from ?? null) : null;
    default:
      return null;
  }
}

/** Appends the rows in order. Call it inside a transaction. `session`: the session of the writing process. */
export function* insertEvents(session: number, events: readonly EventRow[]): Work<void> {
  if (events.length > 0) yield { events, session };
}

/** The value of the column `call` for events of a thread. No call has such an id. */
export function threadKey(thread: ThreadId): string {
  return `${THREAD_PREFIX}${thread}`;
}

/** The prefix of keys made by `threadKey`. */
export const THREAD_PREFIX = "thread:";

/**
 * The form in which a call or thread is looked up. SQLite would change names with a NUL or a lone surrogate, so these
 * are looked up in their JSON form.
 */
export function keyOf(name: string): string {
  return /[\0\p{Surrogate}]/u.test(name) ? JSON.stringify(name) : name;
}
