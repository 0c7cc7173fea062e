import type { Store } from "../../core/contract/activity.ts";
import type { Sql } from "../db/sql.ts";
import { SILENT_WORKER_MS, workerTargetName } from "../../core/contract/worker.ts";
import { lock, run } from "../db/work.ts";
import { pause } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import { createAttendance } from "./attendance.ts";
import { createEventFeed, newestId } from "./event-feed.ts";
import { insertEvents, keyOf, rowOf } from "./event-rows.ts";
import { type EventWriter, createEventWriter } from "./event-writer.ts";
import { outcomeOf, parkedNow } from "./parked.ts";
import { NO_SESSION, conditionOf, expire, firstExpiry, moveIn, parkedIn, writeParked } from "./parked-rows.ts";
import { answerIn, askedIn, questionsIn } from "./questions.ts";
import { jobsIn } from "./recorded-jobs.ts";
import { type RetentionOptions, createRetention } from "./retention.ts";
import { searchIn } from "./search.ts";
import { endTurn, giveBack, takeThread } from "./taken-threads.ts";
import { tailsIn } from "./thread-tails.ts";
import { threadsIn } from "./threads.ts";
import { closeSession, liveProcesses, othersWork, sessionsThatAre } from "./sessions.ts";
import { claimIn, createPresent, deliverIn, holdsIn, isWaitingIn, reportIn, workersIn } from "./worker-calls.ts";

export interface SqlStoreOptions {
  /** Opens the database; called with the first event that is recorded or read. */
  readonly database: () => Promise<Sql>;
  readonly limits: RetentionOptions;
  /** How much live output of one call is recorded, in characters. */
  readonly liveOutput: number;
  /** How often a turn asks again for a thread that another turn has, in milliseconds. */
  readonly askMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** @throws RangeError for a limit that is not an integer above 0. */
export function requireLimits(limits: { readonly [name: string]: number }): void {
  for (const [name, limit] of Object.entries(limits)) {
    if (!Number.isInteger(limit) || limit < 1)
      throw new RangeError(`${name} ${limit}: expected a whole number above 0`);
  }
}

/**
 * A store in a database that several processes share and that outlives them: what sqlite-store.ts and postgres-store.ts
 * have in common.
 */
export function sqlStore({ database: openDatabase, limits, liveOutput, askMs, now }: SqlStoreOptions): Store {
  const retention = createRetention(limits, now);
  const { open, borrow, close } = sharedDatabase(async () => {
    const database = await openDatabase();
    try {
      await closeDead(database, now());
    } catch (error) {
      await database.close();
      throw error;
    }
    retention.look(database);
    return database;
  });

  /** Reads, or writes in its own transaction, after all events taken so far are written. */
  const using = async <T>(work: (database: Sql) => Promise<T>): Promise<T> => {
    await writer.settled();
    const { database, release } = await borrow();
    try {
      return await work(database);
    } finally {
      release();
    }
  };

  /** Does the same, after closing what dead processes left in progress. */
  const afterClosing = <T>(work: (database: Sql) => Promise<T>): Promise<T> =>
    using(async (database) => {
      await closeDead(database, now());
      return await work(database);
    });

  const refuseClosed = () => {
    if (closed !== undefined) throw new Error("the store is closed");
  };

  const attendance = createAttendance(now);
  const attendances = openAttendances(attendance, borrow);
  const feed = createEventFeed({
    borrow,
    settled: () => writer.settled(),
    tend: (database) =>
      closeDead(database, now())
        .then(() => tendAgainIn(database, now()))
        .catch(() => TEND_MS), // locked, or closed meanwhile
  });
  const writer = createEventWriter({
    open,
    liveOutput,
    now,
    onWritten: retention.wrote,
  });
  let closed: Promise<void> | undefined;

  const end = async () => {
    const removed = retention.stop();
    await attendances.endAll();
    try {
      await writer.close();
    } finally {
      feed.close();
      await removed;
      await close();
    }
  };

  return {
    append: writer.append,
    commit: writer.commit,
    events: feed.events,
    threads: () => using(({ dialect, read }) => read(() => threadsIn(dialect))),
    tails: () =>
      using(async (database) => {
        const last = await newestId(database);
        return { tails: await tailsIn(database, last), last };
      }),
    search: (options) => using((database) => searchIn(database, options)),
    questions: () => afterClosing(({ dialect, read }) => read(() => questionsIn(dialect))),
    async answer(question, approval, by) {
      refuseClosed();
      return await afterClosing((database) =>
        database.transaction(() => answerIn(database.dialect, question, approval, { by, at: now() }), {
          durable: true,
        }),
      );
    },
    park: (parking, claim) =>
      writer.transact(function* ({ dialect }, session) {
        yield* lock(keyOf(parking.call));
        const [taken] = yield* parkedIn("call = ?", [keyOf(parking.call)]);
        const isOurs = claim !== undefined && taken?.state === "taken" && taken.claim === claim;
        const asked = yield* askedIn(dialect, parking.question);
        if (!isOurs && taken !== undefined) return { status: "closed", reason: "its call is parked" } as const;
        if ("status" in asked) return asked;
        const { row, event } = parkedNow(parking, now());
        yield* writeParked(row, NO_SESSION);
        yield* insertEvents(session, [rowOf(event)]);
        return { status: "parked" } as const;
      }),
    parked: (filter = {}) => afterClosing(({ read }) => read(() => parkedIn(...conditionOf(filter)))),
    async move(call, move) {
      const { row, refused } = await writer.transact(function* (_, session) {
        yield* lock(keyOf(call));
        const [parked] = yield* parkedIn("call = ?", [keyOf(call)]);
        const result = yield* moveIn(parked, move, { at: now(), session });
        return { ...result, row: result.row ?? parked };
      });
      return outcomeOf(row, refused);
    },
    async attend() {
      refuseClosed();
      return await attendances.begin();
    },
    isAttended: () => using((database) => attendance.isAttended(database)),
    async takeThread(thread, signal) {
      const turn = randomName(16);
      for (;;) {
        signal.throwIfAborted();
        refuseClosed();
        const take = ({ dialect, transaction }: Sql) => transaction(() => takeThread(dialect, thread, turn));
        if (await using(take)) break;
        await pause(askMs, signal);
      }
      return async () => {
        // Comes after the turn's events. If it cannot be written, other processes wait until this process ends.
        await using(({ transaction }) => transaction(() => giveBack(thread, turn))).catch(() => undefined);
        endTurn(turn); // not earlier: the next turn of this process reads what this one wrote
      };
    },
    workers: callsForWorkers({ writer, using, afterClosing, borrow, now }),
    jobs: () => afterClosing(({ dialect, read }) => read(() => jobsIn(dialect))),
    health: () =>
      using(async ({ dialect, read }) => {
        return { processes: await read(() => liveProcesses(dialect)), failedWrites: writer.failures() };
      }),
    close() {
      closed ??= end();
      return closed;
    },
  };
}

interface Access {
  readonly writer: EventWriter;
  using<T>(work: (database: Sql) => Promise<T>): Promise<T>;
  afterClosing<T>(work: (database: Sql) => Promise<T>): Promise<T>;
  borrow(): Promise<{ readonly database: Sql; release(): void }>;
  now(): number;
}

/** Calls that workers make, and the workers. */
function callsForWorkers({ writer, using, afterClosing, borrow, now }: Access): NonNullable<Store["workers"]> {
  const named = (name: string) => using(({ dialect, read }) => read(() => workersIn(dialect, now(), name)));
  const present = createPresent(named, now);
  return {
    async deliver(call) {
      for (let afresh = false; ; afresh = true) {
        const those = await present.of(call.target, { afresh });
        const outcome = await writer.transact(({ dialect }) => deliverIn(dialect, call, those, now()));
        // A refusal is not for what was true a second ago.
        if (outcome.status === "delivered" || afresh) return outcome;
      }
    },
    async claim(by) {
      const isThere = ({ dialect, read }: Sql) => read(() => isWaitingIn(dialect, by, now()));
      if (by.why === undefined && !(await using(isThere))) return undefined;
      return await writer.transact(({ dialect }, session) => claimIn(dialect, by, { at: now(), session }));
    },
    wake(target) {
      const tell = ({ database, release }: Awaited<ReturnType<typeof borrow>>) => {
        database.announce({ types: new Set([`call.delivered ${target}`]), threads: new Set() });
        release();
      };
      borrow().then(tell, () => {}); // a worker looks itself, too
    },
    deliveries({ id, name }, heard) {
      const own = `call.delivered ${id}`;
      const targets = [workerTargetName(name), workerTargetName(name, id)];
      const types = [own, ...targets.map((target) => `call.delivered ${target}`)];
      const watching = borrow().then(({ database, release }) => {
        const leave = database.watch((change) => heard(change?.types.has(own) === true), { types });
        return () => {
          leave();
          release();
        };
      });
      watching.catch(() => {}); // a worker looks itself, too
      return () => void watching.then((leave) => leave()).catch(() => {});
    },
    holds: (call, claim) => using(({ read }) => read(() => holdsIn(call, claim))),
    report: (worker) =>
      afterClosing(async (database) => {
        database.shortenPatience(SILENT_WORKER_MS);
        await database.transaction(() => reportIn(database.dialect, worker, now()));
      }),
    leave: (worker) =>
      using(async ({ transaction }) => {
        await transaction(() => run("DELETE FROM workers WHERE id = ?", [worker]));
      }),
    list: () => afterClosing(({ dialect, read }) => read(() => workersIn(dialect, now()))),
  };
}

/** A database that is opened by its first user. After `close`, it is closed when its last borrower releases it. */
function sharedDatabase(begin: () => Promise<Sql>) {
  let opened: Promise<Sql> | undefined;
  let borrowers = 0;
  let isClosing = false;

  const open = async (): Promise<Sql> => {
    opened ??= begin().catch((error: unknown) => {
      opened = undefined; // the cause of the failure may be gone next time
      throw error;
    });
    return opened;
  };

  const letGo = async () => {
    if (borrowers > 0 || !isClosing || opened === undefined) return;
    const closing = opened;
    opened = undefined;
    await (await closing).close();
  };

  return {
    open,
    async borrow() {
      borrowers += 1;
      const release = () => {
        borrowers -= 1;
        void letGo();
      };
      try {
        return { database: await open(), release };
      } catch (error) {
        release();
        throw error;
      }
    },
    async close() {
      isClosing = true;
      await letGo();
    },
  };
}

/** The attendances that have not ended. Each has borrowed the database. */
function openAttendances(
  attendance: ReturnType<typeof createAttendance>,
  borrow: ReturnType<typeof sharedDatabase>["borrow"],
) {
  const attending = new Set<() => Promise<void>>();
  return {
    async begin() {
      const { database, release } = await borrow();
      try {
        const leave = await attendance.begin(database);
        const end = async () => {
          if (!attending.delete(end)) return;
          await leave();
          release();
        };
        attending.add(end);
        return end;
      } catch (error) {
        release();
        throw error;
      }
    },
    endAll: () => Promise.all([...attending].map((end) => end())),
  };
}

/** How often the processes are checked that have something in progress. Milliseconds. */
const TEND_MS = 5_000;

/** When `closeDead` may find something although nobody writes; `undefined` if it cannot. Milliseconds. */
async function tendAgainIn({ dialect, read }: Sql, at: number): Promise<number | undefined> {
  return await read(function* () {
    if (yield* othersWork(dialect)) return TEND_MS;
    const until = yield* firstExpiry();
    return until === undefined ? undefined : Math.max(TEND_MS, until - at + 1);
  });
}

/**
 * Closes the calls of dead processes, and the parked calls whose time is over. Calls of running processes, and of hosts
 * that this process cannot see, stay. Resolves to 0 when there were no such calls.
 */
async function closeDead(database: Sql, at: number): Promise<number> {
  const dead = await database.read(() => sessionsThatAre(database.dialect, "dead"));
  for (const { id } of dead) await closeSession(database, id, at);
  return dead.length + (await expire(database, at));
}
