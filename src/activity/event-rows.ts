import type { ActivityEvent } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
import type { DatabaseConnection, Value } from "../db/driver.ts";

/** A row of the database: the columns for lookups, and the event as JSON. */
export interface EventRow {
  /** The call, or `threadKey` for an event of a thread. Rows with the same key are removed together. */
  readonly call: string;
  readonly thread: string;
  readonly at: number;
  readonly type: string;
  readonly body: string;
}

/**
 * Makes the row of an event. Serializes it at once, since a tool may go on changing its input and data: 1 to 2 µs for a
 * typical event.
 *
 * @throws TypeError for anything that is not an event or not JSON.
 */
export function rowOf(event: ActivityEvent): EventRow {
  const { thread, at, type } = event;
  const call = "call" in event ? event.call : threadKey(thread);
  if (typeof call !== "string" || typeof thread !== "string" || typeof type !== "string" || !Number.isFinite(at)) {
    throw new TypeError(
      `expected an event with call, thread and type as text and at in milliseconds, got ${JSON.stringify(event)}`,
    );
  }
  return { call, thread, at, type, body: JSON.stringify(event) };
}

// Written by hand: every call needs this statement, and the builder takes longer to load than it takes to run. Many
// rows in one statement are nearly twice as fast as one by one (libsql; a tenth with node:sqlite).
const INSERT = "INSERT INTO events (session, call, thread, at, type, body) VALUES (?, ?, ?, ?, ?, ?)";
const INSERTS = [64, 8, 1].map((count) => ({ count, sql: INSERT + ", (?, ?, ?, ?, ?, ?)".repeat(count - 1) }));

/** Inserts the rows in order. Call it inside a transaction. */
export function insertEvents(connection: DatabaseConnection, session: number, rows: readonly EventRow[]): void {
  let next = 0;
  for (const { count, sql } of INSERTS) {
    for (; rows.length - next >= count; next += count) {
      const values: Value[] = [];
      for (const { call, thread, at, type, body } of rows.slice(next, next + count)) {
        values.push(session, keyOf(call), keyOf(thread), at, type, body);
      }
      connection.run(sql, values);
    }
  }
}

/** The value of the column `call` for events of a thread. No call has such an id. */
export function threadKey(thread: ThreadId): string {
  return `${THREAD_PREFIX}${thread}`;
}

/** The prefix of keys made by `threadKey`. */
export const THREAD_PREFIX = "thread:";

/**
 * The form in which a call or thread is looked up. Names with a NUL or a lone surrogate would change in SQLite, so they
 * are looked up in their JSON form.
 */
export function keyOf(name: string): string {
  return /[\0\p{Surrogate}]/u.test(name) ? JSON.stringify(name) : name;
}
