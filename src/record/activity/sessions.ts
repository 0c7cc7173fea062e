import type { CallEvent } from "../../core/contract/activity.ts";
import { type Dialect, silentProcesses } from "../db/dialect.ts";
import type { Sql } from "../db/sql.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import { moved } from "./parked.ts";
import { NO_SESSION, moveIn, parkedIn } from "./parked-rows.ts";
import { type EventRow, insertEvents, keyOf, rowOf } from "./event-rows.ts";
import {
  type Liveness,
  type ProcessIdentity,
  identityText,
  livenessOf,
  thisProcess,
} from "../../machine/programs/process-identity.ts";

/** The text for people about a call that was approved, perhaps started, and never finished. */
const OUTCOME_UNKNOWN =
  "interrupted: the process running it ended; whether it took effect is unknown. It was not run again.";
const NEVER_RUN = "interrupted before it ran";
const JOB_LOST = "the process that watched it has ended";

/**
 * Records that this process is going to write. Call it inside a transaction. Returns the session's number, which is
 * never reused.
 */
export function* beginSession(at: number): Work<number> {
  const { host, boot, pidNamespace, pid, processStart } = thisProcess();
  const [begun] = yield* all<{ id: number }>(
    `INSERT INTO sessions (host, boot, pid_namespace, pid, process_start, opened_at) VALUES (?, ?, ?, ?, ?, ?)
     RETURNING id`,
    [host, boot, pidNamespace, pid, processStart, at],
  );
  if (begun === undefined) throw new Error("a session got no number");
  return begun.id;
}

/** Ends a session. Call it inside a transaction. If calls or jobs run, it stays until its process has ended. */
export function* endSession(session: number): Work<void> {
  if ((yield* inProgress(session)).length === 0) yield* forget(session);
}

export interface Session extends ProcessIdentity {
  readonly id: number;
  readonly openedAt: number;
}

/** The sessions whose processes are in this state now. */
export function* sessionsThatAre(dialect: Dialect, liveness: Liveness): Work<readonly Session[]> {
  return (yield* sessionStates(dialect)).filter(({ state }) => state === liveness).map(({ session }) => session);
}

/** The number of processes that have a session and are not known to be dead. */
export function* liveProcesses(dialect: Dialect): Work<number> {
  const alive = (yield* sessionStates(dialect)).filter(({ state }) => state !== "dead");
  return new Set(alive.map(({ session }) => identityText(session))).size;
}

/**
 * Whether another process that is not known to be dead has calls or jobs in progress. Of a process with very many
 * calls, only the newest count.
 */
export function* othersWork(dialect: Dialect): Work<boolean> {
  const own = identityText(thisProcess());
  for (const { session, state } of yield* sessionStates(dialect)) {
    if (state === "dead" || identityText(session) === own) continue;
    if ((yield* inProgress(session.id, NEWEST_BEGUN)).length > 0) return true;
  }
  return false;
}

/** All sessions. A process that has been silent for long is dead. */
function* sessionStates(dialect: Dialect): Work<readonly { readonly session: Session; readonly state: Liveness }[]> {
  const sessions = yield* all<Session>(
    `SELECT id, host, boot, pid_namespace AS "pidNamespace", pid, process_start AS "processStart",
       opened_at AS "openedAt" FROM sessions ORDER BY id`,
  );
  const states = sessions.map((session) => ({ session, state: livenessOf(session) }));
  if (!states.some(({ state }) => state === "unknown")) return states;
  const silent = yield* silentProcesses(dialect);
  return states.map(({ session, state }) => {
    const isSilent = state === "unknown" && silent.has(identityText(session));
    return { session, state: isSilent ? "dead" : state };
  });
}

/** The keys of the calls in progress, and of those that are parked. Of a process, only the newest calls count. */
export function* callsInProgress(): Work<readonly string[]> {
  const parked = yield* all<{ call: string }>("SELECT call FROM parked_calls WHERE state <> 'ended'");
  const calls = new Set(parked.map(({ call }) => call));
  for (const { id } of yield* all<{ id: number }>("SELECT id FROM sessions"))
    for (const { type, call } of yield* inProgress(id, NEWEST_BEGUN))
      if (type === "call.started") calls.add(keyOf(call));
  return [...calls];
}

/** How many calls and jobs of a process are looked at: some milliseconds of work. */
const NEWEST_BEGUN = 1_000;

/** How many call and job endings one transaction writes. */
const MOST_ENDINGS = 1_000;

/**
 * Closes what an ended session left in progress: calls end as interrupted, and jobs as lost, except detached ones,
 * which continue. If several processes do this at once, one succeeds.
 */
export async function closeSession(sql: Sql, session: number, at: number): Promise<void> {
  const closeSome = function* () {
    yield* lock(`session ${session}`);
    if ((yield* all("SELECT 1 FROM sessions WHERE id = ?", [session])).length === 0) return 0;
    const left = yield* inProgress(session);
    const endings = new Map<string, EventRow>();
    for (const event of left.slice(0, MOST_ENDINGS)) {
      if (yield* takenAgain(event, at)) continue;
      const row = rowOf(yield* ending(event, at));
      endings.set(row.body, row); // a call ends once
    }
    yield* insertEvents(session, [...endings.values()]);
    if (left.length <= MOST_ENDINGS) yield* forget(session);
    return left.length;
  };
  while ((await sql.transaction(closeSome)) > MOST_ENDINGS);
}

type Begun = Extract<CallEvent, { type: "call.started" | "job.started" }>;

/**
 * The calls and jobs of a session that have not ended, except detached jobs. Of parked calls, those that it has taken.
 * `newest`: only of so many that it began last.
 */
function* inProgress(session: number, newest?: number): Work<readonly Begun[]> {
  const begun =
    newest === undefined
      ? "events"
      : `(SELECT * FROM events WHERE id IN (SELECT id FROM events WHERE session = ? AND type IN ('call.started',
          'job.started') ORDER BY id DESC LIMIT ${newest}))`;
  const rows = yield* all<Pick<EventRow, "body">>(
    `SELECT body FROM ${begun} AS begun
     WHERE session = ? AND type IN ('call.started', 'job.started') AND (type = 'job.started' OR NOT EXISTS (
       SELECT 1 FROM events AS finished WHERE finished.call = begun.call AND finished.type = 'call.finished'))
       AND NOT (type = 'call.started' AND call IN (SELECT call FROM parked_calls))
     UNION ALL
     SELECT body FROM events WHERE type = 'call.started' AND call IN (
       SELECT call FROM parked_calls WHERE state = 'taken' AND session = ?)`,
    newest === undefined ? [session, session] : [session, session, session],
  );
  const left: Begun[] = [];
  for (const { body } of rows) {
    const event = JSON.parse(body) as Begun;
    if (event.type === "call.started" || (event.lifetime === "toolkit" && !(yield* hasEnded(event)))) left.push(event);
  }
  return left;
}

/** Gives a call of a worker to another worker, if the call may be repeated. */
function* takenAgain({ type, call }: Begun, at: number): Work<boolean> {
  if (type !== "call.started") return false;
  const [row] = yield* parkedIn("call = ?", [keyOf(call)]);
  const { refused } = moved(row, { to: "again" }, at);
  if (refused !== undefined) return false;
  yield* lock(keyOf(call));
  const [still] = yield* parkedIn("call = ?", [keyOf(call)]);
  return (yield* moveIn(still, { to: "again" }, { at, session: NO_SESSION })).refused === undefined;
}

function* hasEnded({ call, job }: Extract<Begun, { type: "job.started" }>): Work<boolean> {
  const ends = yield* all<Pick<EventRow, "body">>("SELECT body FROM events WHERE call = ? AND type = 'job.ended'", [
    keyOf(call),
  ]);
  return ends.some(({ body }) => (JSON.parse(body) as { job?: string }).job === job);
}

function* ending(event: Begun, at: number): Work<CallEvent> {
  const { call, thread } = event;
  if (event.type === "job.started") {
    return { call, thread, at, type: "job.ended", job: event.job, exit: { how: "lost", reason: JOB_LOST } };
  }
  const approved = yield* all("SELECT 1 FROM events WHERE call = ? AND type = 'call.approved' LIMIT 1", [keyOf(call)]);
  const error = approved.length > 0 ? OUTCOME_UNKNOWN : NEVER_RUN;
  return { call, thread, at, type: "call.finished", status: "interrupted", error };
}

function* forget(session: number): Work<void> {
  yield* run("DELETE FROM sessions WHERE id = ?", [session]);
}
