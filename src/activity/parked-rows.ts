import type { ParkedCall, ParkedFilter } from "../contract/parked.ts";
import type { Database } from "../db/database.ts";
import type { DatabaseConnection, Value } from "../db/driver.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { type Move, type Moved, moved } from "./parked.ts";

/** Answers, and what stores write by themselves, need no session: nothing must be closed when their process dies. */
export const NO_SESSION = 0;

/** The parked calls of a database for which a condition holds, oldest first. */
export function parkedIn(
  connection: DatabaseConnection,
  condition: string,
  values: readonly Value[],
): readonly ParkedCall[] {
  return connection
    .all<{ state: ParkedCall["state"]; body: string }>(
      `SELECT state, body FROM parked_calls WHERE ${condition} ORDER BY rowid`,
      values,
    )
    .map(({ state, body }) => ({ ...(JSON.parse(body) as ParkedCall), state }));
}

/** The condition for a filter, with its values. */
export function conditionOf({ call, thread, target, states }: ParkedFilter): [string, Value[]] {
  const equal = Object.entries({ call, thread, target }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ sql: `${name} = ?`, value: keyOf(value) }],
  );
  const ofState = states === undefined ? [] : [`state IN (${states.map(() => "?").join(", ")})`];
  const all = ["TRUE", ...equal.map(({ sql }) => sql), ...ofState];
  return [all.join(" AND "), [...equal.map(({ value }) => value), ...(states ?? [])]];
}

/** Moves a parked call. Call it inside a transaction. `session`: that of the process that takes it. */
export function moveIn(
  connection: DatabaseConnection,
  row: ParkedCall | undefined,
  move: Move,
  { at, session }: { readonly at: number; readonly session: number },
): Moved {
  const result = moved(row, move, at);
  insertEvents(connection, NO_SESSION, result.events.map(rowOf));
  if (result.row !== undefined && result.row !== row) writeParked(connection, result.row, session);
  if (result.row === undefined && row !== undefined) {
    connection.run("DELETE FROM parked_calls WHERE call = ?", [keyOf(row.call)]);
  }
  return result;
}

/** Writes the row of a parked call. */
export function writeParked(connection: DatabaseConnection, row: ParkedCall, session: number): void {
  const { call, question, thread, target, state, turn, untilMs } = row;
  connection.run(
    `INSERT INTO parked_calls (call, question, thread, target, state, has_turn, until, session, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (call) DO UPDATE SET question = excluded.question, state = excluded.state, until = excluded.until,
       session = excluded.session, body = excluded.body`,
    [
      ...[keyOf(call), keyOf(question), keyOf(thread), keyOf(target), state],
      ...[turn === undefined ? 0 : 1, untilMs, session, JSON.stringify(row)],
    ],
  );
}

/** Ends the parked calls whose time is over. Returns how many. */
export function expire(database: Database, at: number): number {
  const late = () => parkedIn(database.connection, "state IN ('parked', 'ready', 'ended') AND until < ?", [at]);
  if (late().length === 0) return 0;
  return database.transaction((connection) => {
    return late().map((row) => moveIn(connection, row, { to: "expired" }, { at, session: NO_SESSION })).length;
  });
}
