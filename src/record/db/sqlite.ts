import { type Database, type DatabaseOptions, openDatabase } from "./database.ts";
import { SQLITE } from "./dialect.ts";
import type { DatabaseConnection, Value } from "./driver.ts";
import { noticeWrites, ring } from "./notice-writes.ts";
import { type Change, type Interest, type Sql, type TransactionOptions, changeOf, isOfInterest } from "./sql.ts";
import { type Seal, sealOf } from "./seals.ts";
import type { EventColumns, Step, Work } from "./work.ts";
import { tried } from "../../core/util/errors.ts";

/**
 * Opens a SQLite file. Work runs at once, in one turn of the event loop.
 *
 * @param lookMs how often `watch` checks for changes by other processes where the system reports none, in milliseconds
 * @throws Error like `openDatabase`.
 */
export async function openSqlite(options: DatabaseOptions, lookMs = 100): Promise<Sql> {
  return overDatabase(await openDatabase(options), options.file, lookMs);
}

function overDatabase(database: Database, file: string, lookMs: number): Sql {
  const { connection, patiently } = database;
  const watchers = new Map<(change?: Change) => void, Interest>();
  let stopNoticing: (() => void) | undefined;
  let version: number | undefined;
  let newestSeal: Seal | undefined;

  const transactionNow = <T>(work: () => Work<T>, { durable = false, committed }: TransactionOptions<T> = {}): T => {
    const events: EventColumns[] = [];
    const recording: Recording = { newest: newestSeal, ...(watchers.size > 0 && { events }) };
    const result = database.transaction(() => runWork(connection, work(), recording), { durable });
    newestSeal = recording.newest; // committed
    committed?.(result);
    if (events.length > 0) report(changeOf(events));
    ring(file);
    return result;
  };

  const report = (change: Change) => {
    for (const [changed, interest] of watchers) if (isOfInterest(interest, change)) changed(change);
  };

  /** A failed check (the database is busy) counts as a change. */
  const look = (): boolean => {
    const found = tried(() => database.dataVersion());
    if (found === version) return false;
    version = found;
    for (const changed of watchers.keys()) changed();
    return true;
  };

  const newest = () =>
    patiently(() => connection.all<{ id: number | null }>("SELECT max(id) AS id FROM events")[0]?.id ?? 0);

  return {
    dialect: SQLITE,
    read: (work, { consistent = false } = {}) =>
      patiently(() => {
        if (!consistent) return runWork(connection, work());
        connection.exec("BEGIN");
        try {
          return runWork(connection, work());
        } finally {
          connection.exec("COMMIT");
        }
      }),
    transaction: (work, how) => patiently(() => transactionNow(work, how)),
    transactionNow,
    explain: database.explain,
    readableTo: async () => Number.MAX_SAFE_INTEGER,
    readKnown: (work) => patiently(() => ({ rows: runWork(connection, work()), lagMs: 0 })),
    newest,
    watch(changed, interest = {}) {
      watchers.set(changed, interest);
      version ??= tried(() => database.dataVersion());
      stopNoticing ??= noticeWrites(file, look, lookMs);
      return () => {
        watchers.delete(changed);
        if (watchers.size > 0) return;
        stopNoticing?.();
        stopNoticing = undefined;
      };
    },
    announce: () => {}, // other processes see every write, and this one has nothing to learn
    lapses: () => 0,
    shortenPatience: () => {},
    usedBytes: () =>
      patiently(() => {
        const [pages] = connection.all<{ bytes: number }>(
          `SELECT (page_count - freelist_count) * page_size AS bytes
           FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
        );
        return pages?.bytes ?? 0;
      }),
    giveBack: () =>
      patiently(() => {
        connection.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
        return (connection.all<{ freelist_count: number }>("PRAGMA freelist_count")[0]?.freelist_count ?? 0) === 0;
      }),
    tidy: database.shortenLog,
    async close() {
      stopNoticing?.();
      database.close();
    },
  };
}

/** How many unused pages are returned at a time: some milliseconds of work. */
const STEP_PAGES = 200;

/** What a transaction records. */
interface Recording {
  /** The newest seal that this process knows. */
  newest?: Seal | undefined;
  /** Gets the events. */
  readonly events?: EventColumns[];
}

/** Runs work on an open connection, at once. Throws what it throws, and the engine's own errors. */
function runWork<T>(connection: DatabaseConnection, work: Work<T>, recording: Recording = {}): T {
  let next = work.next();
  while (next.done !== true) next = work.next(perform(connection, next.value, recording));
  return next.value;
}

function perform(connection: DatabaseConnection, step: Step, recording: Recording): unknown {
  if ("events" in step) {
    recording.events?.push(...step.events);
    const from = insertEvents(connection, step.session, step.events);
    recording.newest = seal(connection, step, from, recording.newest);
    return undefined;
  }
  if ("lock" in step) return undefined;
  if (step.gives === "rows") return connection.all(step.sql, step.values);
  return connection.run(step.sql, step.values).changes;
}

// Many rows in one statement are nearly twice as fast as one by one (libsql; a tenth with node:sqlite).
const INSERT = "INSERT INTO events (session, call, thread, at, type, body) VALUES (?, ?, ?, ?, ?, ?)";
const INSERTS = [64, 8, 1].map((count) => ({ count, sql: INSERT + ", (?, ?, ?, ?, ?, ?)".repeat(count - 1) }));

/** Returns the id of the first row. */
function insertEvents(connection: DatabaseConnection, session: number, rows: readonly EventColumns[]): number {
  let next = 0;
  let last = 0;
  for (const { count, sql } of INSERTS) {
    for (; rows.length - next >= count; next += count) {
      const values: Value[] = [];
      for (const { call, thread, at, type, body } of rows.slice(next, next + count)) {
        values.push(session, call, thread, at, type, body);
      }
      last = connection.run(sql, values).lastId;
    }
  }
  return last - rows.length + 1;
}

/**
 * Transactions come one after the other, so that the seals of a file are one chain. SQLite never uses an id twice: the
 * newest seal that this process knows is the newest of all if no ids are missing after it.
 */
function seal(
  connection: DatabaseConnection,
  { events, session }: { readonly events: readonly EventColumns[]; readonly session: number },
  from: number,
  known: Seal | undefined,
): Seal {
  const [newest] = known?.last === from - 1 ? [known] : connection.all<Pick<Seal, "first" | "hash">>(NEWEST_SEAL);
  // One by one: spreading a row costs as much as its hash.
  const rows = events.map(({ call, thread, at, type, body }, place) => {
    return { id: from + place, session, call, thread, at, type, body };
  });
  const sealed = sealOf(rows, newest === undefined ? [] : [[newest.first, newest.hash]]);
  const { first, last, above, calls, hash } = sealed;
  connection.run("INSERT INTO seals (first, last, above, calls, hash) VALUES (?, ?, ?, ?, ?)", [
    ...[first, last, above, calls, hash],
  ]);
  return sealed;
}

const NEWEST_SEAL = "SELECT first, hash FROM seals ORDER BY first DESC LIMIT 1";
