import type { Generated } from "kysely";

/** The tables, as created by migrations.ts. */
export interface Schema {
  readonly events: EventsTable;
  readonly sessions: SessionsTable;
  readonly chores: ChoresTable;
}

/** What happened, in the order it was committed. */
interface EventsTable {
  readonly id: Generated<number>;
  /** The session that wrote the event. Its row may have been removed. */
  readonly session: number;
  readonly call: string;
  readonly thread: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly type: string;
  /** All of the event, as JSON. */
  readonly body: string;
}

/** Processes that have written and have not closed their session. */
interface SessionsTable {
  readonly id: Generated<number>;
  readonly host: string;
  readonly boot: string;
  readonly pid_namespace: string;
  readonly pid: number;
  /** When that process started, in its system's format: compare, never parse. */
  readonly process_start: string;
  /** Milliseconds since 1970. */
  readonly opened_at: number;
}

/** Work that any process does from time to time. */
interface ChoresTable {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly begun_at: number;
}
