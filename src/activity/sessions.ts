import type { CallEvent } from "../contract/activity.ts";
import type { Database } from "../db/database.ts";
import type { DatabaseConnection } from "../db/driver.ts";
import { type EventRow, insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { type Liveness, type ProcessIdentity, livenessOf, thisProcess } from "../util/process-identity.ts";

/** The text for people about a call that was approved, perhaps started, and never finished. */
const OUTCOME_UNKNOWN =
  "interrupted: the process running it ended; whether it took effect is unknown. It was not run again.";
const NEVER_RUN = "interrupted before it ran";
const JOB_LOST = "the process that watched it has ended";

/**
 * Records that this process is going to write. Call it inside a transaction. Returns the session's number, which is
 * never reused.
 */
export function beginSession(connection: DatabaseConnection, at: number): number {
  const { host, boot, pidNamespace, pid, processStart } = thisProcess();
  return connection.run(
    "INSERT INTO sessions (host, boot, pid_namespace, pid, process_start, opened_at) VALUES (?, ?, ?, ?, ?, ?)",
    [host, boot, pidNamespace, pid, processStart, at],
  ).lastId;
}

/** Ends a session. One with calls or jobs in progress stays, to be closed when its process has ended. */
export function endSession(database: Database, session: number): void {
  database.transaction((connection) => {
    if (inProgress(connection, session).length === 0) forget(connection, session);
  });
}

export interface Session extends ProcessIdentity {
  readonly id: number;
  readonly openedAt: number;
}

/** The sessions whose processes are in this state now. */
export function sessionsThatAre(connection: DatabaseConnection, liveness: Liveness): readonly Session[] {
  return connection
    .all<Session>(
      `SELECT id, host, boot, pid_namespace AS pidNamespace, pid, process_start AS processStart, opened_at AS openedAt
       FROM sessions ORDER BY id`,
    )
    .filter((session) => livenessOf(session) === liveness);
}

/**
 * Closes what an ended session left in progress: calls end as interrupted, and jobs as lost, except detached ones,
 * which continue. If several processes do it at once, one succeeds.
 */
export function closeSession(database: Database, session: number, at: number): void {
  database.transaction((connection) => {
    if (!forget(connection, session)) return;
    const endings = inProgress(connection, session).map((event) => rowOf(ending(connection, event, at)));
    insertEvents(connection, session, [...new Map(endings.map((row) => [row.body, row])).values()]); // a call ends once
  });
}

type Begun = Extract<CallEvent, { type: "call.started" | "job.started" }>;

/**
 * The calls and jobs of a session that have not ended, except detached jobs. Of parked calls, those that it has taken.
 */
function inProgress(connection: DatabaseConnection, session: number): readonly Begun[] {
  return connection
    .all<Pick<EventRow, "body">>(
      `SELECT body FROM events AS begun
       WHERE session = ? AND type IN ('call.started', 'job.started') AND (type = 'job.started' OR NOT EXISTS (
         SELECT 1 FROM events AS finished WHERE finished.call = begun.call AND finished.type = 'call.finished'))
         AND NOT (type = 'call.started' AND call IN (SELECT call FROM parked_calls))
       UNION ALL
       SELECT body FROM events WHERE type = 'call.started' AND call IN (
         SELECT call FROM parked_calls WHERE state = 'taken' AND session = ?)`,
      [session, session],
    )
    .map(({ body }) => JSON.parse(body) as Begun)
    .filter((event) => event.type === "call.started" || (event.lifetime === "toolkit" && !hasEnded(connection, event)));
}

function hasEnded(connection: DatabaseConnection, { call, job }: Extract<Begun, { type: "job.started" }>): boolean {
  return connection
    .all<Pick<EventRow, "body">>("SELECT body FROM events WHERE call = ? AND type = 'job.ended'", [keyOf(call)])
    .some(({ body }) => (JSON.parse(body) as { job?: string }).job === job);
}

function ending(connection: DatabaseConnection, event: Begun, at: number): CallEvent {
  const { call, thread } = event;
  if (event.type === "job.started") {
    return { call, thread, at, type: "job.ended", job: event.job, exit: { how: "lost", reason: JOB_LOST } };
  }
  const approved = connection.all("SELECT 1 FROM events WHERE call = ? AND type = 'call.approved' LIMIT 1", [
    keyOf(call),
  ]);
  const error = approved.length > 0 ? OUTCOME_UNKNOWN : NEVER_RUN;
  return { call, thread, at, type: "call.finished", status: "interrupted", error };
}

/** Returns false when it was already removed. */
function forget(connection: DatabaseConnection, session: number): boolean {
  return connection.run("DELETE FROM sessions WHERE id = ?", [session]).changes > 0;
}
