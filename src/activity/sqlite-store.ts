import { resolve } from "node:path";
import type { Store } from "../contract/activity.ts";
import { type Database, openDatabase } from "../db/database.ts";
import type { DatabaseConnection } from "../db/driver.ts";
import { pause } from "../util/abort.ts";
import { randomName } from "../util/identifier.ts";
import { createAttendance } from "./attendance.ts";
import { createEventFeed } from "./event-feed.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { createEventWriter } from "./event-writer.ts";
import { outcomeOf, parkedNow } from "./parked.ts";
import { NO_SESSION, conditionOf, expire, moveIn, parkedIn, writeParked } from "./parked-rows.ts";
import { answerIn, askedIn, questionsIn } from "./questions.ts";
import { jobsIn } from "./recorded-jobs.ts";
import { createRetention } from "./retention.ts";
import { searchIn } from "./search.ts";
import { endTurn, giveBack, takeThread } from "./taken-threads.ts";
import { threadsIn } from "./threads.ts";
import { closeSession, sessionsThatAre } from "./sessions.ts";

export interface SqliteStoreOptions {
  /** Created with mode 0600 (missing folders 0700). Several processes may share it. */
  readonly file: string;
  /** Days after which ended calls are removed. Default 30. */
  readonly maxAgeDays?: number;
  /** The most events; with more, the oldest calls are removed. Default 200,000. */
  readonly maxEvents?: number;
  /**
   * The most bytes of the database; with more, the oldest calls are removed. Does not include the write-ahead log of
   * some 16 MB. Default `DEFAULT_MAX_DATABASE_BYTES`.
   */
  readonly maxBytes?: number;
  /**
   * How much live output of one call is recorded, in characters; a line reports the rest as omitted. Default 1,048,576.
   */
  readonly liveOutput?: number;
  /** How long to wait for a database that others lock, in milliseconds. Default 10,000. */
  readonly patienceMs?: number;
  /** How often followers check for events of other processes, in milliseconds. Default 100. */
  readonly lookMs?: number;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

/** The default size limit of the database: 1 GiB. */
export const DEFAULT_MAX_DATABASE_BYTES = 1_073_741_824;

/**
 * A store in a SQLite file, which several processes share and which outlives them.
 *
 * - The file is opened or created when the first event is recorded or read.
 * - `append` queues events; some 20 ms later they are written together, and survive the death of the process.
 *   Consecutive updates of one call in that time become one. It throws when 64 MB wait and cannot be written, and for
 *   anything that is not JSON.
 * - `commit` resolves when its event, and all before it, survive a loss of power. It rejects with a sentence on the
 *   cause and the next step; then its event is not recorded.
 * - A process that opens the file, lists questions or jobs, or follows events, closes what dead processes left in
 *   progress, as interrupted. Nothing is run again.
 * - `takeThread` waits for processes of this machine only: those of other hosts and containers are not visible.
 * - Old calls are removed in the background, in small steps: whole calls, the oldest first, none in progress. Age is
 *   checked once a day; size also whenever a process has written 1/32 of a limit or 16 MB. Removal continues until 7/8
 *   of `maxBytes` is used, so that processes that write meanwhile stay within it.
 * - `close` writes what is left, and rejects when it cannot. A closed store can still be read.
 *
 * @throws RangeError for a limit that is not an integer above 0.
 */
export function sqliteStore({
  file,
  maxAgeDays = 30,
  maxEvents = 200_000,
  maxBytes = DEFAULT_MAX_DATABASE_BYTES,
  liveOutput = 1_048_576,
  patienceMs = 10_000,
  lookMs = 100,
  now = Date.now,
}: SqliteStoreOptions): Store {
  for (const [name, limit] of Object.entries({ maxAgeDays, maxEvents, maxBytes, liveOutput, patienceMs, lookMs })) {
    if (!Number.isInteger(limit) || limit < 1)
      throw new RangeError(`${name} ${limit}: expected a whole number above 0`);
  }
  const path = resolve(file);
  const retention = createRetention({ maxAgeDays, maxEvents, maxBytes }, now);
  let opened: Promise<Database> | undefined;
  let readers = 0;
  let written = false;

  const open = async (): Promise<Database> => {
    opened ??= begin().catch((error: unknown) => {
      opened = undefined; // the cause may be gone the next time
      throw error;
    });
    return opened;
  };

  const begin = async () => {
    const database = await openDatabase({ file: path, patienceMs });
    try {
      await closeDead(database, now());
    } catch (error) {
      database.close();
      throw error;
    }
    retention.look(database);
    return database;
  };

  /** Closes the database after its last reader, once the store is closed and everything is written. */
  const letGo = async () => {
    if (readers > 0 || !written || opened === undefined) return;
    const closing = opened;
    opened = undefined;
    (await closing).close();
  };

  const borrow = async () => {
    readers += 1;
    const release = () => {
      readers -= 1;
      void letGo();
    };
    try {
      return { database: await open(), release };
    } catch (error) {
      release();
      throw error;
    }
  };

  /** Reads, or writes in its own transaction, after all events taken so far. */
  const using = async <T>(work: (database: Database) => T | Promise<T>): Promise<T> => {
    await writer.settled();
    const { database, release } = await borrow();
    try {
      return await work(database);
    } finally {
      release();
    }
  };

  /** The same, after closing what dead processes left in progress. */
  const afterClosing = <T>(work: (database: Database) => T): Promise<T> =>
    using(async (database) => {
      if ((await closeDead(database, now())) > 0) feed.wake();
      return await database.patiently(() => work(database));
    });

  const refuseClosed = () => {
    if (closed !== undefined) throw new Error("the store is closed");
  };

  const attendance = createAttendance(now);
  const attending = new Set<() => Promise<void>>();
  const feed = createEventFeed({
    borrow,
    lookMs,
    settled: () => writer.settled(),
    tend: (database) =>
      closeDead(database, now()).then(
        (count) => count > 0,
        () => false, // locked: the next check comes soon
      ),
  });
  const writer = createEventWriter({
    open,
    liveOutput,
    now,
    onWritten(database, rows) {
      feed.wake();
      retention.wrote(database, rows);
    },
  });
  let closed: Promise<void> | undefined;

  const end = async () => {
    const removed = retention.stop();
    await Promise.all([...attending].map((leave) => leave()));
    try {
      await writer.close();
    } finally {
      feed.close();
      await removed;
      written = true;
      await letGo();
    }
  };

  return {
    append: writer.append,
    commit: writer.commit,
    events: feed.events,
    threads: () => using((database) => database.patiently(() => threadsIn(database))),
    search: (options) => using((database) => searchIn(database, options)),
    questions: () => afterClosing(({ connection }) => questionsIn(connection)),
    async answer(question, approval, by) {
      refuseClosed();
      const outcome = await afterClosing((database) =>
        database.transaction((connection) => answerIn(connection, question, approval, { by, at: now() }), {
          durable: true,
        }),
      );
      if (outcome.status === "answered") feed.wake();
      return outcome;
    },
    async park(parking, claim) {
      const outcome = await writer.transact((connection, session) => {
        const [taken] = parkedIn(connection, "call = ?", [keyOf(parking.call)]);
        const isOurs = claim !== undefined && taken?.state === "taken" && taken.claim === claim;
        const asked = askedIn(connection, parking.question);
        if (!isOurs && taken !== undefined) return { status: "closed", reason: "its call is parked" } as const;
        if ("status" in asked) return asked;
        const { row, event } = parkedNow(parking, now());
        writeParked(connection, row, NO_SESSION);
        insertEvents(connection, session, [rowOf(event)]);
        return { status: "parked" } as const;
      });
      feed.wake();
      return outcome;
    },
    parked: (filter = {}) => afterClosing(({ connection }) => parkedIn(connection, ...conditionOf(filter))),
    async move(call, move) {
      const { row, refused } = await writer.transact((connection, session) => {
        const [parked] = parkedIn(connection, "call = ?", [keyOf(call)]);
        const result = moveIn(connection, parked, move, { at: now(), session });
        return { ...result, row: result.row ?? parked };
      });
      feed.wake();
      return outcomeOf(row, refused);
    },
    async attend() {
      refuseClosed();
      const { database, release } = await borrow();
      try {
        const leave = await attendance.begin(database);
        const endAttendance = async () => {
          if (!attending.delete(endAttendance)) return;
          leave();
          release();
        };
        attending.add(endAttendance);
        return endAttendance;
      } catch (error) {
        release();
        throw error;
      }
    },
    isAttended: () => using((database) => database.patiently(() => attendance.isAttended(database))),
    async takeThread(thread, signal) {
      const turn = randomName(16);
      const writing = <T>(work: (connection: DatabaseConnection) => T) =>
        using((database) => database.patiently(() => database.transaction(work)));
      for (;;) {
        signal.throwIfAborted();
        refuseClosed();
        if (await writing((connection) => takeThread(connection, thread, turn))) break;
        await pause(lookMs, signal);
      }
      return async () => {
        // Comes after the turn's events. If it cannot be written, other processes wait until this process ends.
        await writing((connection) => giveBack(connection, thread, turn)).catch(() => undefined);
        endTurn(turn); // not earlier: the next turn of this process reads what this one wrote
      };
    },
    jobs: () => afterClosing(({ connection }) => jobsIn(connection)),
    close() {
      closed ??= end();
      return closed;
    },
  };
}

/**
 * Closes the calls of dead processes, and the parked ones whose time is over. Those of running processes, and of hosts
 * that are not visible from here, stay. Resolves to 0 when there were none.
 */
async function closeDead(database: Database, at: number): Promise<number> {
  const dead = await database.patiently(() => sessionsThatAre(database.connection, "dead"));
  for (const { id } of dead) await database.patiently(() => closeSession(database, id, at));
  return dead.length + (await database.patiently(() => expire(database, at)));
}
