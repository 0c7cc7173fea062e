import { setImmediate as nextTurn } from "node:timers/promises";
import type { ActivityEvent } from "../../core/contract/activity.ts";
import { type Sql, UnknownOutcome } from "../db/sql.ts";
import type { Work } from "../db/work.ts";
import { formatSize } from "../../core/output/size.ts";
import { isFulfilled } from "../../core/util/promises.ts";
import { plural } from "../../core/util/text.ts";
import { BATCH_ROWS, type Commit, type EventQueue, createEventQueue } from "./event-queue.ts";
import { type EventRow, insertEvents, rowOf } from "./event-rows.ts";
import { beginSession, endSession } from "./sessions.ts";
import { createLiveOutputLimit } from "./updates.ts";

/** How long an appended event waits for further events, to share a transaction. */
const GATHER_MS = 20;

/** The size of the queue above which `append` writes at once, because the event loop gets no turn to write. */
const MANY_WAITING = 4_194_304;

/** The largest queue, in characters of JSON. */
const MAX_WAITING = 67_108_864;

/** Delays before retries after a failure. They grow. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 30_000;

export interface EventWriterOptions {
  readonly open: () => Promise<Sql>;
  /** How much live output of one call is recorded, in characters. */
  readonly liveOutput: number;
  readonly now: () => number;
  /** Called when events of this process have become readable. */
  readonly onWritten: (database: Sql, rows: readonly EventRow[]) => void;
}

/** Writes events to the database in order, many in one transaction. */
export interface EventWriter {
  append(event: ActivityEvent): void;
  commit(event: ActivityEvent): Promise<void>;
  /** Runs a durable transaction as this process's session, with the events taken so far. Rejects if that fails. */
  transact<T>(work: (database: Sql, session: number) => Work<T>): Promise<T>;
  /** Resolves when the events taken so far are written, or could not be written. Never rejects. */
  settled(): Promise<void>;
  /** How many attempts to write have failed. */
  failures(): number;
  /** Writes the remaining events and ends the session. Rejects when this fails. */
  close(): Promise<void>;
}

/** This process's session in the database. Other processes close a lapsed session. */
function createOwnSession(now: () => number) {
  let session: number | undefined;
  let lapses = 0;
  return {
    /** Its number, or that of a new session. */
    *of(into: Sql): Work<number> {
      if (session !== undefined && into.lapses() === lapses) return session;
      return yield* beginSession(now());
    },
    /** A transaction of the session was committed: a failed one leaves no session. */
    began(into: Sql, by: number) {
      session = by;
      lapses = into.lapses();
    },
    /** A session that cannot be ended is closed after its process has ended, like the session of a dead process. */
    async end(into: Sql) {
      const ours = session;
      if (ours !== undefined) await into.transaction(() => endSession(ours)).catch(() => {});
    },
  };
}

/** Writes the oldest events of the queue in one transaction. If the transaction fails, all its events still wait. */
function createBatchWriter(
  queue: EventQueue,
  session: ReturnType<typeof createOwnSession>,
  onWritten: EventWriterOptions["onWritten"],
) {
  /** The batch of which it is unknown whether it was recorded. */
  let doubt: { readonly outcome: UnknownOutcome; readonly last: number } | undefined;

  const batchInto = <T>(into: Sql, more: (session: number) => Work<T>) => {
    let batch = queue.batch();
    const work = function* (): Work<readonly [number, T]> {
      batch = queue.batch(); // made again with each attempt
      const writer = yield* session.of(into);
      yield* insertEvents(writer, batch.rows);
      return [writer, yield* more(writer)];
    };
    const committed = ([by]: readonly [number, T]) => {
      session.began(into, by);
      queue.written(batch.last);
      onWritten(into, batch.rows);
    };
    return { work, how: { durable: batch.durable || more !== nothing, committed }, last: () => batch.last };
  };

  return {
    /** With `more`, in the same transaction. Resolves to what that returns. */
    async write<T>(into: Sql, more: (session: number) => Work<T>): Promise<T> {
      const { work, how, last } = batchInto(into, more);
      try {
        const [, result] = await into.transaction(work, how);
        return result;
      } catch (error) {
        if (error instanceof UnknownOutcome) doubt = { outcome: error, last: last() };
        throw error;
      }
    },
    /** Writes at once. Throws when the database is locked. */
    writeNow(into: Sql) {
      const { work, how } = batchInto(into, nothing);
      into.transactionNow?.(work, how);
    },
    /** Finds out whether the batch in doubt was recorded, so that no event is written twice. */
    async settleDoubt() {
      if (doubt === undefined) return;
      if (await doubt.outcome.wasRecorded()) queue.written(doubt.last);
      doubt = undefined;
    },
  };
}

function* nothing(): Work<void> {}

/** Begins to write: soon, when events have gathered, or after a pause that grows with each failure. */
function createTimer(begin: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  let retryMs = FIRST_RETRY_MS;
  const stop = () => {
    clearTimeout(timer);
    clearImmediate(immediate);
    [timer, immediate] = [undefined, undefined];
  };
  return {
    stop,
    soon: () => void (immediate ??= setImmediate(begin)),
    gather: () => void (timer ??= setTimeout(begin, GATHER_MS)),
    retry(isWanted: boolean) {
      clearTimeout(timer);
      timer = isWanted ? setTimeout(begin, retryMs).unref() : undefined;
      if (isWanted) retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
    },
    succeeded: () => void (retryMs = FIRST_RETRY_MS),
  };
}

export function createEventWriter({ open, liveOutput, now, onWritten }: EventWriterOptions): EventWriter {
  const queue = createEventQueue();
  const limit = createLiveOutputLimit(liveOutput);
  let database: Sql | undefined;
  let writing: Promise<void> | undefined;
  let problem: Error | undefined;
  let failures = 0;
  let closed: Promise<void> | undefined;
  const timer = createTimer(() => void write());
  const session = createOwnSession(now);
  const batches = createBatchWriter(queue, session, (into, rows) => {
    problem = undefined;
    timer.succeeded();
    onWritten(into, rows);
  });

  const writeAll = async () => {
    try {
      database ??= await open();
      const into = database;
      await batches.settleDoubt();
      while (queue.length > 0) {
        await batches.write(into, nothing);
        if (queue.length > 0) await nextTurn();
      }
    } catch (error) {
      problem = error as Error;
      failures += 1;
      queue.failed(problem);
      timer.retry(closed === undefined && queue.length > 0);
    }
  };

  const write = (): Promise<void> => {
    timer.stop();
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  /** Makes room when appends are faster than the event loop. */
  const makeRoom = () => {
    if (problem !== undefined || database?.transactionNow === undefined) return;
    try {
      while (queue.length > 0) batches.writeNow(database);
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
    timer.stop();
    if (queue.length > 0) {
      throw new Error(`${plural(queue.length, "event")} could not be recorded: ${problem?.message ?? "not written"}`);
    }
    if (database !== undefined) await session.end(database);
  };

  /** Runs a transaction that also writes the events that wait. Nothing else writes meanwhile. */
  const writeWith = async <T>(work: (into: Sql, session: number) => Work<T>): Promise<T> => {
    timer.stop();
    const both = async () => {
      database ??= await open();
      const into = database;
      await batches.settleDoubt();
      return await batches.write(into, (own) => work(into, own));
    };
    const result = both();
    writing = isFulfilled(result)
      .then(() => {})
      .finally(() => {
        writing = undefined;
        if (queue.length > 0) timer.soon();
      });
    return await result;
  };

  const settled = async () => {
    if (queue.length === 0 || problem !== undefined) return;
    timer.soon();
    await queue.settled();
  };

  return {
    append(event) {
      refuseClosed();
      const recorded = limit.within(event);
      if (recorded === undefined) return;
      take(recorded, undefined);
      const opens = database === undefined; // opening is slow, but runs partly in parallel with the call
      if ((opens || queue.length >= BATCH_ROWS) && problem === undefined) timer.soon();
      else timer.gather();
    },
    async commit(event) {
      refuseClosed();
      const recorded = limit.within(event);
      if (recorded === undefined) return;
      await new Promise<void>((resolve, reject) => {
        take(recorded, { resolve, reject });
        timer.soon(); // all commits of this turn of the event loop share one transaction
      });
    },
    async transact(work) {
      refuseClosed();
      if (writing !== undefined || queue.length > BATCH_ROWS) await settled();
      if (problem !== undefined) throw problem;
      if (writing === undefined && queue.length > 0 && queue.length <= BATCH_ROWS) return await writeWith(work);
      database ??= await open();
      const into = database;
      const both = function* () {
        const own = yield* session.of(into);
        return [yield* work(into, own), own] as const;
      };
      const [result] = await into.transaction(both, { durable: true, committed: ([, by]) => session.began(into, by) });
      return result;
    },
    settled,
    failures: () => failures,
    close() {
      closed ??= end();
      return closed;
    },
  };
}
