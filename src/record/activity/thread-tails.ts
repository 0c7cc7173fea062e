import { setImmediate as nextTurn } from "node:timers/promises";
import type { StoredEvent, ThreadTail } from "../../core/contract/activity.ts";
import type { ThreadId } from "../../core/contract/identity.ts";
import type { Value } from "../db/driver.ts";
import type { Dialect } from "../db/dialect.ts";
import type { Sql } from "../db/sql.ts";
import { type Work, all } from "../db/work.ts";
import { eventOf, keyOf, threadKey } from "./event-rows.ts";
import { callsInProgress } from "./sessions.ts";
import { threadsIn } from "./threads.ts";

/** How many threads one statement looks up: some milliseconds, then other requests get a turn. */
const STEP_THREADS = 50;

/** The events of a call that a tail has. */
const OF_CALL = "type IN ('call.started', 'approval.requested', 'approval.decided', 'call.finished')";
const SAID = "type IN ('message.added', 'call.started', 'turn.ended')";

/** The tails of all threads, with events up to this id: some index lookups for each thread, however long it is. */
export async function tailsIn({ dialect, read }: Sql, last: number): Promise<readonly ThreadTail[]> {
  const summaries = await read(() => threadsIn(dialect));
  const running = await read(function* () {
    return yield* eventsWhere("call", yield* callsInProgress(), `${OF_CALL} AND id <= ${last}`);
  });
  const tails: ThreadTail[] = [];
  for (let next = 0; next < summaries.length; next += STEP_THREADS) {
    const some = summaries.slice(next, next + STEP_THREADS);
    const { calls, events } = await read(() =>
      endsOf(
        dialect,
        some.map(({ thread }) => thread),
        last,
      ),
    );
    const byThread = new Map<ThreadId, Map<number, StoredEvent>>();
    for (const event of [...running, ...events]) {
      const own = byThread.get(event.thread) ?? new Map<number, StoredEvent>();
      byThread.set(event.thread, own.set(event.id, event));
    }
    for (const summary of some) {
      const { thread } = summary;
      const inOrder = [...(byThread.get(thread)?.values() ?? [])].toSorted((one, other) => one.id - other.id);
      tails.push({ summary, calls: calls.get(keyOf(thread)) ?? 0, events: inOrder });
    }
    await nextTurn();
  }
  return tails;
}

/** How many calls these threads have, and the events of their tails, except of older calls that run. */
function* endsOf({ facet, indexed }: Dialect, threads: readonly ThreadId[], last: number) {
  const of = (column: string, condition: string, place = 0) =>
    `(SELECT ${column} FROM events WHERE thread = key AND ${condition} AND id <= ${last}
      ORDER BY id DESC LIMIT 1 OFFSET ${place})`;
  const began = "type = 'call.started'";
  const rows = yield* all<Ends>(
    `SELECT key,
       (SELECT count(*) FROM events ${indexed("events_calls")} WHERE thread = key AND ${began} AND id <= ${last})
         AS calls,
       ${of("call", began)} AS call1, ${of("call", began, 1)} AS call2, ${of("call", began, 2)} AS call3,
       ${of("id", `(${OF_CALL} OR ${SAID} OR type = 'thread.created')`)} AS newest, ${of("id", SAID)} AS said,
       (SELECT id FROM events WHERE call = thread_key AND id <= ${last} AND (type = 'turn.ended' OR
          type = 'message.added' AND ${facet("message.from")} IS NOT NULL) ORDER BY id DESC LIMIT 1) AS turned
     FROM (SELECT column1 AS key, column2 AS thread_key
       FROM (VALUES ${threads.map(() => "(?, ?)").join(", ")}) AS given) AS keys`,
    threads.flatMap((thread) => [keyOf(thread), keyOf(threadKey(thread))]),
  );
  const calls = present(rows.flatMap(({ call1, call2, call3 }) => [call1, call2, call3]));
  const ids = present(rows.flatMap(({ newest, said, turned }) => [newest, said, turned]));
  const events = [
    ...(yield* eventsWhere("call", calls, `${OF_CALL} AND id <= ${last}`)),
    ...(yield* eventsWhere("id", ids, "TRUE")),
  ];
  return { calls: new Map(rows.map((row) => [row.key, row.calls])), events };
}

interface Ends {
  readonly key: string;
  readonly calls: number;
  /** The keys of the newest calls, the newest first. */
  readonly call1: string | null;
  readonly call2: string | null;
  readonly call3: string | null;
  /** The newest event, the newest of messages, calls and ends of turns, and the newest of users' and ends of turns. */
  readonly newest: number | null;
  readonly said: number | null;
  readonly turned: number | null;
}

const present = <T>(values: readonly (T | null)[]): readonly T[] => values.filter((value) => value !== null);

function* eventsWhere(column: string, values: readonly Value[], condition: string): Work<readonly StoredEvent[]> {
  if (values.length === 0) return [];
  const rows = yield* all<{ id: number; body: string }>(
    `SELECT id, body FROM events WHERE ${column} IN (${values.map(() => "?").join(", ")}) AND ${condition}`,
    values,
  );
  return rows.map(({ id, body }) => Object.assign(eventOf(body), { id }));
}
