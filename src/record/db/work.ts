import type { Value } from "./driver.ts";

/**
 * What is done in a database, as a generator of steps: it yields a step, and is resumed with its outcome. So one text
 * serves an engine that works at once (SQLite, in one turn of the event loop) and a server that answers later
 * (PostgreSQL). It may be run again from the start, so it keeps nothing outside itself.
 */
export type Work<T> = Generator<Step, T, unknown>;

export type Step =
  /**
   * A statement with `?` for its parameters. Its outcome: the rows, how many were changed, or nothing. A server is sent
   * the next step without waiting for one that gives nothing; if it fails, the transaction fails.
   */
  | { readonly sql: string; readonly values: readonly Value[]; readonly gives: "rows" | "count" | "nothing" }
  /**
   * Waits until no other transaction has one of these names, and then holds the names until its own transaction ends.
   * Does nothing in SQLite, where a transaction is alone anyway. Names come all at once, or in one order everywhere.
   */
  | { readonly lock: readonly string[] }
  /** Appends events, in order. */
  | { readonly events: readonly EventColumns[]; readonly session: number };

/** The columns of an event. */
export interface EventColumns {
  readonly call: string;
  readonly thread: string;
  readonly at: number;
  readonly type: string;
  readonly body: string;
  /** What statements ask for of the body: see `Dialect.facet`. */
  readonly facet: string | null;
}

/** Runs a statement. Returns its rows. */
export function* all<Row>(sql: string, values: readonly Value[] = []): Work<Row[]> {
  return (yield { sql, values, gives: "rows" }) as Row[];
}

/** Runs a statement that returns no rows. */
export function* run(sql: string, values: readonly Value[] = []): Work<void> {
  yield { sql, values, gives: "nothing" };
}

/** Runs a statement that returns no rows. Returns how many it changed. */
export function* counted(sql: string, values: readonly Value[] = []): Work<number> {
  return (yield { sql, values, gives: "count" }) as number;
}

/** See `Step`. Call it inside a transaction, before what must not change is read. */
export function* lock(...names: readonly string[]): Work<void> {
  yield { lock: names };
}
