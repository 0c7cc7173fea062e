import type { ParkedCall } from "../../core/contract/parked.ts";
import {
  type DeliveredCall,
  type DeliveryOutcome,
  PRESENT_MS,
  type WorkerReport,
  type WorkerState,
  type WorkerStore,
  workerTargetName,
} from "../../core/contract/worker.ts";
import type { Dialect } from "../db/dialect.ts";
import type { Value } from "../db/driver.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { NO_SESSION, moveIn, parkedIn, writeParked } from "./parked-rows.ts";

/** After this time without a report, a worker is no longer listed. Milliseconds. */
const FORGOTTEN_MS = 600_000;

const clocked = ({ clock }: Dialect, at: number) => (clock === "?" ? [at] : []);

/** How long a process uses the reports of workers that it has read. Milliseconds. */
const KNOWN_MS = 1_000;

/** For how long only the worker that is asked first may take a call. Milliseconds. */
const ALONE_MS = 200;

/** How many calls a claim looks at, at most: others may be claiming the first ones. */
const CANDIDATES = 64;

/** The workers, or those of a name; the newest last. */
export function* workersIn(dialect: Dialect, at: number, name?: string): Work<readonly WorkerState[]> {
  const [where, values] = name === undefined ? ["", []] : [" WHERE name = ?", [name]];
  const sql = `SELECT body, ${dialect.clock} - beat_at AS silent FROM workers${where}`;
  return workersOf(yield* all<WorkerRow>(sql, [...clocked(dialect, at), ...values]));
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

/** Those that can make the calls of a target, as far as this process knows. */
export interface Present {
  readonly workers: readonly WorkerState[];
  /** Whom this process has asked to make a call since, and when. */
  readonly asked: { readonly id: string; readonly atMs: number }[];
}

/**
 * The workers of targets. A process reads their reports once a second, not for each delivery, and adds the calls that
 * it has asked them to make since.
 */
export function createPresent(read: (name: string) => Promise<readonly WorkerState[]>, now: () => number) {
  const known = new Map<string, { readonly present: Promise<Present>; readonly readMs: number }>();
  const readOf = async (target: string): Promise<Present> => {
    const workers = await read(/^worker:([^#]*)/.exec(target)?.[1] ?? "");
    const meant = workers.filter(({ id, name, silentMs }) => {
      return silentMs < PRESENT_MS && [workerTargetName(name), workerTargetName(name, id)].includes(target);
    });
    return { workers: meant, asked: [] };
  };
  return {
    of(target: string, { afresh }: { readonly afresh: boolean }): Promise<Present> {
      const before = known.get(target);
      if (!afresh && before !== undefined && Math.abs(now() - before.readMs) < KNOWN_MS) return before.present;
      const present = readOf(target); // deliveries at the same time share it, so that they ask different workers
      known.set(target, { present, readMs: now() });
      present.catch(() => known.delete(target));
      return present;
    },
  };
}

/** How many calls a worker makes: those that it has reported, and those that it was asked to make since. */
function loadOf({ id, running, averageMs }: WorkerState, { asked }: Present, at: number): number {
  const recently = Math.max(averageMs, SHORTEST_CALL_MS);
  return running + asked.filter((each) => each.id === id && at - each.atMs < recently).length;
}

/** A call counts for this long at least, with its delivery and its claim. Milliseconds. */
const SHORTEST_CALL_MS = 50;

/** The worker that is asked first: one of those that make the fewest calls for their places. */
function firstOf(able: readonly WorkerState[], present: Present, at: number) {
  const loads = able.map((worker) => ({ worker, load: loadOf(worker, present, at) }));
  const shares = loads.map(({ worker, load }) => load / worker.concurrency);
  const least = loads.filter((_, place) => shares[place] === Math.min(...shares));
  return least[Math.floor(Math.random() * least.length)]; // random: other processes ask, too
}

/** Records a call for a worker. Repeating it changes nothing. Call it inside a transaction. */
export function* deliverIn(dialect: Dialect, call: DeliveredCall, present: Present, at: number): Work<DeliveryOutcome> {
  const { target, thread, name } = call;
  const key = keyOf(call.call);
  const [{ waiting, first, own, known } = { waiting: 0, first: 0, own: -1, known: false }] = yield* all<Queue>(
    `SELECT count(CASE WHEN state = 'ready' THEN 1 END) AS waiting, coalesce(min(place), 0) AS first,
       coalesce(max(CASE WHEN thread = ? THEN place END), -1) AS own,
       EXISTS (SELECT 1 FROM parked_calls WHERE call = ?) AS known
     FROM parked_calls WHERE target = ? AND place IS NOT NULL AND state IN ('ready', 'taken')`,
    [keyOf(thread), key, keyOf(target)],
  );
  if (known) return { status: "delivered", hasRoom: false };
  if (present.workers.length === 0) return { status: "nobody" };
  const able = present.workers.filter(({ tools }) => tools.includes(name));
  const asked = firstOf(able, present, at);
  if (asked === undefined)
    return { status: "no-tool", names: [...new Set(present.workers.flatMap(({ tools }) => tools))] };
  if (waiting >= able.reduce((sum, { maxWaiting }) => sum + maxWaiting, 0)) {
    const slots = able.reduce((sum, { concurrency }) => sum + concurrency, 0);
    const averageMs = able.reduce((sum, worker) => sum + worker.averageMs, 0) / able.length;
    return { status: "full", waiting, waitMs: Math.round((waiting * averageMs) / slots) };
  }
  const row: ParkedCall = {
    ...{ ...call, question: "", about: {} },
    ...{ state: "ready", sinceMs: at, untilMs: at + call.keepMs },
  };
  // Start-time fair queueing: a thread's next call comes after its last one, and after what is first now.
  const worker = asked.worker.id;
  const hasRoom = asked.load < asked.worker.concurrency;
  const place = Math.max(first, own + 1);
  // The processes of a file see every write when it happens; nothing would wake the others later.
  const aloneMs = hasRoom && dialect.clock !== "?" ? ALONE_MS : 0;
  yield* writeParked(row, NO_SESSION, { tool: keyOf(name), place, asked: worker, aloneMs, in: dialect });
  yield* insertEvents(NO_SESSION, [rowOf({ type: "call.delivered", call: call.call, thread, at, target, worker })]);
  present.asked.push({ id: worker, atMs: at });
  return { status: "delivered", hasRoom };
}

/**
 * The queue of a target: how many calls wait, the first place in it, the thread's last place; whether it has the call.
 */
interface Queue {
  readonly waiting: number;
  readonly first: number;
  readonly own: number;
  readonly known: boolean | number;
}

/** The condition for calls that a worker may take now, and its values. */
function takeable({ clock }: Dialect, worker: string, at: number): { readonly sql: string; readonly values: Value[] } {
  const sql = `state = 'ready' AND place IS NOT NULL AND (asked = ? OR coalesce(alone_until, 0) <= ${clock})`;
  return { sql, values: [worker, ...(clock === "?" ? [at] : [])] };
}

/** Whether the worker may take a call of these targets: asked first, because it needs no transaction. */
export function* isWaitingIn(
  dialect: Dialect,
  { worker, targets }: Pick<Parameters<WorkerStore["claim"]>[0], "worker" | "targets">,
  at: number,
): Work<boolean> {
  const { sql, values } = takeable(dialect, worker, at);
  const marks = targets.map(() => "?").join(", ");
  const ready = `SELECT 1 FROM parked_calls WHERE target IN (${marks}) AND ${sql} LIMIT 1`;
  return (yield* all(ready, [...targets.map(keyOf), ...values])).length > 0;
}

/**
 * Claims the next call. Several workers claim at the same time: each takes the first call that no other is claiming.
 * Call it inside a transaction.
 */
export function* claimIn(
  dialect: Dialect,
  { worker, targets, tools, claim, why }: Parameters<WorkerStore["claim"]>[0],
  { at, session }: { readonly at: number; readonly session: number },
): Work<ParkedCall | undefined> {
  if (tools.length === 0) return undefined;
  const marks = (values: readonly string[]) => values.map(() => "?").join(", ");
  yield* lock(`claim ${claim}`); // a claim whose reply was lost may still be open
  if (why === "again") {
    const taken = yield* parkedIn(`state = 'taken' AND target IN (${marks(targets)})`, targets.map(keyOf));
    const own = taken.find((row) => row.claim === claim);
    if (own !== undefined) return own;
  }
  const free = takeable(dialect, worker, at);
  const ofTarget = `SELECT * FROM (
    SELECT call, place, rowid AS number FROM parked_calls
    WHERE target = ? AND ${free.sql} AND until >= ? AND tool IN (${marks(tools)})
      AND timeline = ${dialect.timeline}
    ORDER BY place, rowid LIMIT ${CANDIDATES}) AS of_target`;
  const next = `SELECT call FROM (
      ${targets.map(() => ofTarget).join(" UNION ALL ")} ORDER BY place, number LIMIT ${CANDIDATES}) AS next
    WHERE ${dialect.lockable("call")} LIMIT 1`;
  for (;;) {
    const values = targets.flatMap((target) => [keyOf(target), ...free.values, at, ...tools.map(keyOf)]);
    const [found] = yield* all<{ call: string }>(next, values);
    if (found === undefined) return undefined;
    const [row] = yield* parkedIn("call = ?", [found.call]);
    if (row?.state !== "ready") continue; // taken or withdrawn meanwhile
    const { target } = row;
    return (yield* moveIn(row, { to: "taken", claim, target, worker }, { at, session })).row;
  }
}

/** Whether this claim still has the call. */
export function* holdsIn(call: string, claim: string): Work<boolean> {
  const [row] = yield* parkedIn("call = ? AND state = 'taken'", [keyOf(call)]);
  return row?.claim === claim;
}
