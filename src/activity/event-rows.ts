import type { ActivityEvent } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
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
  return { call: keyOf(call), thread: keyOf(thread), at, type, body: JSON.stringify(event), facet: facetOf(event) };
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
