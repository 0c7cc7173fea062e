import type { ParkedCall } from "../contract/parked.ts";
import {
  type DeliveredCall,
  type DeliveryOutcome,
  PRESENT_MS,
  type WorkerReport,
  type WorkerState,
  type WorkerStore,
  workerTargetName,
} from "../contract/worker.ts";
import type { Dialect } from "../db/dialect.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { NO_SESSION, moveIn, parkedIn, writeParked } from "./parked-rows.ts";

/** After this time without a report, a worker is no longer listed. Milliseconds. */
const FORGOTTEN_MS = 600_000;

const clocked = ({ clock }: Dialect, at: number) => (clock === "?" ? [at] : []);

/** The workers, the newest last. */
export function* workersIn(dialect: Dialect, at: number): Work<readonly WorkerState[]> {
  return workersOf(
    yield* all<WorkerRow>(`SELECT body, ${dialect.clock} - beat_at AS silent FROM workers`, clocked(dialect, at)),
  );
}

interface WorkerRow {
  readonly body: string;
  readonly silent: number;
}

function workersOf(rows: readonly WorkerRow[]): readonly WorkerState[] {
  return rows
    .map(({ body, silent }) => ({ ...(JSON.parse(body) as WorkerReport), silentMs: Math.max(0, silent) }))
    .filter(({ silentMs }) => silentMs < FORGOTTEN_MS)
    .toSorted((one, other) => one.startedMs - other.startedMs || (one.id < other.id ? -1 : 1));
}

/** Records a worker's report. Call it inside a transaction. */
export function* reportIn(dialect: Dialect, worker: WorkerReport, at: number): Work<void> {
  const { clock } = dialect;
  yield* run(`DELETE FROM workers WHERE beat_at < ${clock} - ${FORGOTTEN_MS}`, clocked(dialect, at));
  yield* run(
    `INSERT INTO workers (id, name, beat_at, body) VALUES (?, ?, ${clock}, ?)
     ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, body = excluded.body`,
    [worker.id, worker.name, ...clocked(dialect, at), JSON.stringify(worker)],
  );
}

/** Records a call for a worker. Repeating it changes nothing. Call it inside a transaction. */
export function* deliverIn(dialect: Dialect, call: DeliveredCall, at: number): Work<DeliveryOutcome> {
  const { target, thread, name } = call;
  const key = keyOf(call.call);
  // One statement: each would be a round trip to the server.
  const rows = yield* all<Queue & { [name in keyof WorkerRow]: WorkerRow[name] | null }>(
    `SELECT body, ${dialect.clock} - beat_at AS silent, waiting, first, own,
       EXISTS (SELECT 1 FROM parked_calls WHERE call = ?) AS known
     FROM (SELECT count(CASE WHEN state = 'ready' THEN 1 END) AS waiting, coalesce(min(place), 0) AS first,
       coalesce(max(CASE WHEN thread = ? THEN place END), -1) AS own
       FROM parked_calls WHERE target = ? AND place IS NOT NULL) AS queue LEFT JOIN workers ON TRUE`,
    [...clocked(dialect, at), key, keyOf(thread), keyOf(target)],
  );
  const [{ waiting, first, own, known } = { waiting: 0, first: 0, own: -1, known: false }] = rows;
  if (known) return { status: "delivered" };
  const there = rows.flatMap(({ body, silent }) => (body === null || silent === null ? [] : [{ body, silent }]));
  const workers = workersOf(there).filter(({ silentMs }) => silentMs < PRESENT_MS);
  const meant = workers.filter(({ id, name: of }) => [workerTargetName(of), workerTargetName(of, id)].includes(target));
  if (meant.length === 0) return { status: "nobody", names: [...new Set(workers.map((worker) => worker.name))] };
  const able = meant.filter(({ tools }) => tools.includes(name));
  if (able.length === 0) return { status: "no-tool", names: [...new Set(meant.flatMap(({ tools }) => tools))] };
  if (waiting >= able.reduce((sum, { maxWaiting }) => sum + maxWaiting, 0)) {
    const slots = able.reduce((sum, { concurrency }) => sum + concurrency, 0);
    const averageMs = able.reduce((sum, worker) => sum + worker.averageMs, 0) / able.length;
    return { status: "full", waiting, waitMs: Math.round((waiting * averageMs) / slots) };
  }
  const row: ParkedCall = {
    ...{ ...call, question: "", about: {} },
    ...{ state: "ready", sinceMs: at, untilMs: at + call.keepMs },
  };
  yield* writeParked(row, NO_SESSION);
  // Start-time fair queueing: a thread's next call comes after its last one, and after what is first now.
  yield* run(`UPDATE parked_calls SET tool = ?, place = ?, timeline = ${dialect.timeline} WHERE call = ?`, [
    ...[keyOf(name), Math.max(first, own + 1), key],
  ]);
  // Asked first, and without the queue: a worker that has room, as far as is known.
  const [worker] = able.filter(hasRoom).toSorted((one, other) => one.running - other.running);
  const asked = worker !== undefined && { worker: worker.id };
  yield* insertEvents(NO_SESSION, [rowOf({ type: "call.delivered", call: call.call, thread, at, target, ...asked })]);
  return { status: "delivered" };
}

/**
 * The queue of a target: its calls that wait, the first place in it, the thread's last place; whether it has the call.
 */
interface Queue {
  readonly waiting: number;
  readonly first: number;
  readonly own: number;
  readonly known: boolean | number;
}

const hasRoom = ({ running, concurrency }: WorkerReport) => running < concurrency;

/** Whether a call of these targets is ready: asked first, because it needs no transaction. */
export function* isWaitingIn(targets: readonly string[]): Work<boolean> {
  const marks = targets.map(() => "?").join(", ");
  const where = `state = 'ready' AND place IS NOT NULL AND target IN (${marks})`;
  const ready = `SELECT 1 FROM parked_calls WHERE ${where} LIMIT 1`;
  return (yield* all(ready, targets.map(keyOf))).length > 0;
}

/** Claims the next call. Claims of a target come one after the other. Call it inside a transaction. */
export function* claimIn(
  dialect: Dialect,
  { worker, targets, tools, claim, why }: Parameters<WorkerStore["claim"]>[0],
  { at, session }: { readonly at: number; readonly session: number },
): Work<ParkedCall | undefined> {
  if (tools.length === 0) return undefined;
  yield* lock(...targets);
  const marks = (values: readonly string[]) => values.map(() => "?").join(", ");
  if (why === "again") {
    const taken = yield* parkedIn(`state = 'taken' AND target IN (${marks(targets)})`, targets.map(keyOf));
    const own = taken.find((row) => row.claim === claim);
    if (own !== undefined) return own;
  }
  for (;;) {
    const [next] = yield* all<{ call: string }>(
      `SELECT call FROM parked_calls WHERE state = 'ready' AND place IS NOT NULL AND until >= ?
         AND target IN (${marks(targets)}) AND tool IN (${marks(tools)}) AND timeline = ${dialect.timeline}
       ORDER BY place, rowid LIMIT 1`,
      [at, ...targets.map(keyOf), ...tools.map(keyOf)],
    );
    if (next === undefined) return undefined;
    yield* lock(next.call);
    const [row] = yield* parkedIn("call = ?", [next.call]);
    if (row?.state !== "ready") continue; // withdrawn meanwhile
    const { target } = row;
    return (yield* moveIn(row, { to: "taken", claim, target, worker }, { at, session })).row;
  }
}

/** Whether this claim still has the call. */
export function* holdsIn(call: string, claim: string): Work<boolean> {
  const [row] = yield* parkedIn("call = ? AND state = 'taken'", [keyOf(call)]);
  return row?.claim === claim;
}
