import type { Generated } from "kysely";

/** The tables, as migrations.ts makes them. */
export interface Schema {
  readonly events: EventsTable;
  readonly sessions: SessionsTable;
  readonly chores: ChoresTable;
}

/** What happened, in the order it was committed. */
interface EventsTable {
  readonly id: Generated<number>;
  /** Who wrote it. That session may be over, and its row gone. */
  readonly session: number;
  readonly call: string;
  readonly thread: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly type: string;
  /** All of the event, as JSON. */
  readonly body: string;
}

/** Processes that have written and not said goodbye. */
interface SessionsTable {
  readonly id: Generated<number>;
  readonly host: string;
  readonly boot: string;
  readonly pid_namespace: string;
  readonly pid: number;
  /** When that process started, in the words of its system: compare, never parse. */
  readonly process_start: string;
  /** Milliseconds since 1970. */
  readonly opened_at: number;
}

/** What is done once in a while, whichever process comes by. */
interface ChoresTable {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly begun_at: number;
}
