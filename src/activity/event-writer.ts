import { setImmediate as nextTurn } from "node:timers/promises";
import type { ActivityEvent } from "../contract/activity.ts";
import type { Database } from "../db/database.ts";
import type { DatabaseConnection } from "../db/driver.ts";
import { formatSize } from "../output/size.ts";
import { plural } from "../util/text.ts";
import { BATCH_ROWS, type Commit, createEventQueue } from "./event-queue.ts";
import { type EventRow, insertEvents, rowOf } from "./event-rows.ts";
import { beginSession, endSession } from "./sessions.ts";
import { createLiveOutputLimit } from "./updates.ts";

/** How long an appended event waits for others, to share a transaction. */
const GATHER_MS = 20;

/** The size of the queue above which `append` writes at once: the event loop gets no turn to do it. */
const MANY_WAITING = 4_194_304;

/** The largest queue, in characters of JSON. */
const MAX_WAITING = 67_108_864;

/** Delays before retries after a failure, growing. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

export interface EventWriterOptions {
  readonly open: () => Promise<Database>;
  /** How much live output of one call is recorded, in characters. */
  readonly liveOutput: number;
  readonly now: () => number;
  /** Called when events of this process have become readable. */
  readonly onWritten: (database: Database, rows: readonly EventRow[]) => void;
}

/** Writes events to the database in order, many in one transaction. */
export interface EventWriter {
  append(event: ActivityEvent): void;
  commit(event: ActivityEvent): Promise<void>;
  /** Runs a durable transaction as this process's session, after the events taken so far. Rejects if that fails. */
  transact<T>(work: (connection: DatabaseConnection, session: number) => T): Promise<T>;
  /** Resolves when the events taken so far are written, or could not be. Never rejects. */
  settled(): Promise<void>;
  /** Writes the remaining events and ends the session. Rejects when that fails. */
  close(): Promise<void>;
}

export function createEventWriter({ open, liveOutput, now, onWritten }: EventWriterOptions): EventWriter {
  const queue = createEventQueue();
  const limit = createLiveOutputLimit(liveOutput);
  let database: Database | undefined;
  let session: number | undefined;
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  let retryMs = FIRST_RETRY_MS;
  let problem: Error | undefined;
  let closed: Promise<void> | undefined;

  /** Writes the oldest events in one transaction. Throws SQLite's errors; then all events still wait. */
  const writeBatch = (into: Database) => {
    const { rows, durable, count } = queue.batch();
    const by = into.transaction(
      (connection) => {
        const writer = session ?? beginSession(connection, now());
        insertEvents(connection, writer, rows);
        return writer;
      },
      { durable },
    );
    session = by; // only now: a failed transaction leaves no session
    problem = undefined;
    retryMs = FIRST_RETRY_MS;
    queue.written(count);
    onWritten(into, rows);
  };

  const writeAll = async () => {
    try {
      database ??= await open();
      const into = database;
      while (queue.length > 0) {
        await into.patiently(() => {
          if (queue.length > 0) writeBatch(into);
        });
        if (queue.length > 0) await nextTurn();
      }
    } catch (error) {
      problem = error as Error;
      queue.failed(problem);
      retryLater();
    }
  };

  const retryLater = () => {
    clearTimeout(timer);
    timer = undefined;
    if (closed !== undefined || queue.length === 0) return;
    timer = setTimeout(begin, retryMs).unref();
    retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
  };

  const write = (): Promise<void> => {
    clearTimeout(timer);
    clearImmediate(immediate);
    timer = undefined;
    immediate = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  const begin = () => void write();

  const soon = () => {
    immediate ??= setImmediate(begin);
  };

  /** Makes room when appends are faster than the event loop. */
  const makeRoom = () => {
    if (problem !== undefined || database === undefined) return;
    try {
      while (queue.length > 0) writeBatch(database);
    } catch (error) {
      if (queue.size > MAX_WAITING) problem = database.explain(error);
    }
  };

  const take = (event: ActivityEvent, commit: Commit | undefined) => {
    const row = rowOf(event);
    const { length } = row.body;
    if (length > MAX_WAITING) {
      throw new Error(`an event of ${formatSize(length)} is too large: the limit is ${formatSize(MAX_WAITING)}`);
    }
    if (queue.size + length > MANY_WAITING) makeRoom();
    if (queue.size + length > MAX_WAITING) {
      const reason = problem?.message ?? "the database is not open yet, or locked";
      throw new Error(`${formatSize(queue.size)} of events wait to be recorded, which is the limit: ${reason}`);
    }
    queue.push(row, commit);
  };

  const refuseClosed = () => {
    if (closed !== undefined) throw new Error("the store is closed");
  };

  const end = async () => {
    while (queue.length > 0 || writing !== undefined) {
      await write();
      if (problem !== undefined) break;
    }
    clearTimeout(timer);
    clearImmediate(immediate);
    if (queue.length > 0) {
      throw new Error(`${plural(queue.length, "event")} could not be recorded: ${problem?.message ?? "not written"}`);
    }
    const [into, ours] = [database, session];
    // A session that cannot be ended is closed when its process has ended, like that of a dead process.
    if (into !== undefined && ours !== undefined) await into.patiently(() => endSession(into, ours)).catch(() => {});
  };

  const settled = async () => {
    if (queue.length === 0 || problem !== undefined) return;
    soon();
    await queue.settled();
  };

  return {
    append(event) {
      refuseClosed();
      const recorded = limit.within(event);
      if (recorded === undefined) return;
      take(recorded, undefined);
      const opens = database === undefined; // slow, but partly in parallel with the call
      if ((opens || queue.length >= BATCH_ROWS) && problem === undefined) soon();
      else timer ??= setTimeout(begin, GATHER_MS);
    },
    async commit(event) {
      refuseClosed();
      const recorded = limit.within(event);
      if (recorded === undefined) return;
      await new Promise<void>((resolve, reject) => {
        take(recorded, { resolve, reject });
        soon(); // all commits of this turn of the event loop share one transaction
      });
    },
    async transact(work) {
      refuseClosed();
      await settled();
      if (problem !== undefined) throw problem;
      database ??= await open();
      const into = database;
      return await into.patiently(() => {
        const [result, by] = into.transaction(
          (connection) => {
            const own = session ?? beginSession(connection, now());
            return [work(connection, own), own] as const;
          },
          { durable: true },
        );
        session = by;
        return result;
      });
    },
    settled,
    close() {
      closed ??= end();
      return closed;
    },
  };
}
