import type { ActivityEvent } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
import type { Connection, Value } from "../db/driver.ts";

/** An event as it stands in the database: what it is found by, and all of it as JSON. */
export interface EventRow {
  /** The call, or for an event of a thread itself `threadKey`. Rows with one key are removed together. */
  readonly call: string;
  readonly thread: string;
  readonly at: number;
  readonly type: string;
  readonly body: string;
}

/**
 * The row of an event. Its text is made at once, so that it stays what it was whatever its maker does with the objects in it later
 * (a tool may go on using the input and the data it was given): 1 to 2 µs for what calls usually say.
 *
 * @throws TypeError for what is no event, or holds what JSON cannot.
 */
export function rowOf(event: ActivityEvent): EventRow {
  const { thread, at, type } = event;
  const call = "call" in event ? event.call : threadKey(thread);
  if (typeof call !== "string" || typeof thread !== "string" || typeof type !== "string" || !Number.isFinite(at)) {
    throw new TypeError(
      `an event needs call, thread and type as text and at in milliseconds; got ${JSON.stringify(event)}`,
    );
  }
  return { call, thread, at, type, body: JSON.stringify(event) };
}

// Written by hand and not by the builder: every call comes this way, and the builder takes longer to load than this to run.
// Many rows in one statement are nearly twice as fast as one by one (libsql; a tenth with node:sqlite).
const INSERT = "INSERT INTO events (session, call, thread, at, type, body) VALUES (?, ?, ?, ?, ?, ?)";
const INSERTS = [64, 8, 1].map((count) => ({ count, sql: INSERT + ", (?, ?, ?, ?, ?, ?)".repeat(count - 1) }));

/** Adds the rows in their order. Inside a transaction. */
export function insertEvents(connection: Connection, session: number, rows: readonly EventRow[]): void {
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

/** What events of a thread itself have in the column `call`: no call has such an id. */
export function threadKey(thread: ThreadId): string {
  return `${THREAD_PREFIX}${thread}`;
}

/** Begins the keys that `threadKey` makes. */
export const THREAD_PREFIX = "thread:";

/**
 * A call or thread as it is looked for. Names with a NUL or half a surrogate pair would come back from SQLite as others, so they are
 * looked for in their JSON form.
 */
export function keyOf(name: string): string {
  return /[\0\p{Surrogate}]/u.test(name) ? JSON.stringify(name) : name;
}
