import type { ParkedCall, ParkedFilter } from "../../core/contract/parked.ts";
import type { Value } from "../db/driver.ts";
import type { Sql } from "../db/sql.ts";
import type { Dialect } from "../db/dialect.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { type Move, type Moved, moved } from "./parked.ts";

/** Answers, and what stores write on their own, need no session: nothing must be closed when their process dies. */
export const NO_SESSION = 0;

/** The parked calls of a database for which a condition holds, oldest first. */
export function* parkedIn(condition: string, values: readonly Value[]): Work<readonly ParkedCall[]> {
  const rows = yield* all<{ state: ParkedCall["state"]; body: string }>(
    `SELECT state, body FROM parked_calls WHERE ${condition} ORDER BY rowid`,
    values,
  );
  return rows.map(({ state, body }) => ({ ...(JSON.parse(body) as ParkedCall), state }));
}

/** The condition for a filter, with its values. */
export function conditionOf({ call, thread, target, states }: ParkedFilter): [string, Value[]] {
  const equal = Object.entries({ call, thread, target }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ sql: `${name} = ?`, value: keyOf(value) }],
  );
  const ofState = states === undefined ? [] : [`state IN (${states.map(() => "?").join(", ")})`];
  const conditions = ["TRUE", ...equal.map(({ sql }) => sql), ...ofState];
  return [conditions.join(" AND "), [...equal.map(({ value }) => value), ...(states ?? [])]];
}

/** Moves a parked call. Call it inside a transaction. `session`: the session of the process that takes the call. */
export function* moveIn(
  row: ParkedCall | undefined,
  move: Move,
  { at, session }: { readonly at: number; readonly session: number },
): Work<Moved> {
  const result = moved(row, move, at);
  yield* insertEvents(NO_SESSION, result.events.map(rowOf));
  if (result.row !== undefined && result.row !== row) yield* writeParked(result.row, session);
  if (result.row === undefined && row !== undefined) {
    yield* run("DELETE FROM parked_calls WHERE call = ?", [keyOf(row.call)]);
  }
  return result;
}

/** Where a call for workers is in the queue of its target. */
interface Queued {
  readonly tool: string;
  readonly place: number;
  /** The worker that is asked first, and for how long only it may take the call. Milliseconds. */
  readonly asked: string;
  readonly aloneMs: number;
  readonly in: Pick<Dialect, "timeline" | "clock">;
}

/** Writes the row of a parked call. `queued`: of a new one for workers. */
export function* writeParked(row: ParkedCall, session: number, queued?: Queued): Work<void> {
  const { call, question, thread, target, state, turn, untilMs } = row;
  const [columns, marks] =
    queued === undefined
      ? ["", ""]
      : [", tool, place, asked, alone_until, timeline", `, ?, ?, ?, ${queued.in.clock} + ?, ${queued.in.timeline}`];
  yield* run(
    `INSERT INTO parked_calls (call, question, thread, target, state, has_turn, until, session, body${columns})
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?${marks})
     ON CONFLICT (call) DO UPDATE SET question = excluded.question, state = excluded.state, until = excluded.until,
       has_turn = excluded.has_turn, session = excluded.session, body = excluded.body`,
    [
      ...[keyOf(call), keyOf(question), keyOf(thread), keyOf(target), state],
      // The caller of a worker waits for the result itself, until a question makes the call wait without it.
      ...[turn === undefined || question === "" ? 0 : 1, untilMs, session, JSON.stringify(row)],
      ...(queued === undefined ? [] : [queued.tool, queued.place, queued.asked]),
      ...(queued === undefined ? [] : [...(queued.in.clock === "?" ? [row.sinceMs] : []), queued.aloneMs]),
    ],
  );
}

/** What a model and people read about a call whose claim the record may have lost. */
const CLAIM_LOST =
  "interrupted: the database failed over and may have lost that a worker has taken the call. Whether it ran is " +
  "unknown. It was not run again.";

/** The condition for calls that were delivered before a failover, in a form that the index serves. */
const isOfOther = ({ timeline }: Dialect) =>
  `timeline IS NOT NULL AND (timeline < ${timeline} OR timeline > ${timeline})`;

/** Ends the calls that were delivered before the database failed over: they may have been taken. */
function* endDoubtful(dialect: Dialect, at: number): Work<number> {
  const doubtful = yield* parkedIn(`state = 'ready' AND ${isOfOther(dialect)}`, []);
  if (doubtful.length === 0) return 0;
  yield* lock(...doubtful.map(({ call }) => keyOf(call)));
  const rows = yield* parkedIn(`state = 'ready' AND ${isOfOther(dialect)}`, []);
  const ends = rows.map(({ call, thread }) =>
    rowOf({ call, thread, at, type: "call.finished", status: "interrupted", error: CLAIM_LOST }),
  );
  yield* insertEvents(NO_SESSION, ends);
  return rows.length;
}

/** When the time of the first parked call is over, in milliseconds since 1970; `undefined` if there is none. */
export function* firstExpiry(): Work<number | undefined> {
  const sql = "SELECT min(until) AS until FROM parked_calls WHERE state IN ('parked', 'ready', 'ended')";
  return (yield* all<{ until: number | null }>(sql))[0]?.until ?? undefined;
}

/** Ends the parked calls whose time is over. Returns how many calls it ended. */
export async function expire(sql: Sql, at: number): Promise<number> {
  const late = () => parkedIn("state IN ('parked', 'ready', 'ended') AND until < ?", [at]);
  const [found, doubtful] = await sql.read(function* () {
    return [yield* late(), yield* all(`SELECT 1 FROM parked_calls WHERE ${isOfOther(sql.dialect)} LIMIT 1`)];
  });
  if (found.length + doubtful.length === 0) return 0;
  return await sql.transaction(function* () {
    if (doubtful.length > 0 && found.length === 0) return yield* endDoubtful(sql.dialect, at);
    yield* lock(...found.map(({ call }) => keyOf(call)));
    const rows = yield* late();
    for (const row of rows) yield* moveIn(row, { to: "expired" }, { at, session: NO_SESSION });
    return rows.length;
  });
}
