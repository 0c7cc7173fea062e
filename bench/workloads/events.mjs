/**
 * Events in the database: appending, committing, and opening a database. Compared with the bare driver that the store
 * uses.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { sqliteStore } from "handrail";
import { atMost, within } from "./shared.mjs";

const EVENTS_A_RUN = 10_000;
const COMMITS_A_RUN = 200;
const OPENINGS_A_RUN = 50;
const KEPT = 50_000;

/** @typedef {import("handrail").ActivityEvent} ActivityEvent */
/**
 * @typedef {{ exec(script: string): unknown, prepare(sql: string): { run(...values: unknown[]): unknown, all(...values:
 * unknown[]): unknown[] }, close(): unknown }} Raw
 */

/** @type {readonly import("./shared.mjs").Workload[]} */
export const EVENTS = [
  {
    name: "events-queue",
    what: "one event appended: what a call waits for; ceiling JSON.stringify",
    unit: "µs",
    scale: 1_000 / EVENTS_A_RUN,
    target: atMost(2),
    async prepare(folder) {
      const store = sqliteStore({ file: fresh(folder, "queue.db"), maxEvents: 10_000_000 });
      await store.commit(eventOf(0));
      return {
        measuresItself: true,
        ours: async () => {
          const time = timed(() => {
            for (let number = 0; number < EVENTS_A_RUN; number++) store.append(eventOf(number));
          });
          await store.commit(eventOf(0));
          return time;
        },
        ceiling: () =>
          timed(() => {
            for (let number = 0; number < EVENTS_A_RUN; number++) JSON.stringify(eventOf(number));
          }),
        cleanUp: () => store.close(),
      };
    },
  },
  {
    name: "events-append",
    what: "one event appended and written; ceiling the driver, 100 rows a transaction; peer the driver, one row a transaction",
    unit: "µs",
    scale: 1_000 / EVENTS_A_RUN,
    target: atMost(1.5),
    async prepare(folder) {
      const store = sqliteStore({ file: fresh(folder, "append.db"), maxEvents: 10_000_000 });
      await store.commit(eventOf(0));
      const hundred = await rawDatabase(fresh(folder, "append-100.db"));
      const single = await rawDatabase(fresh(folder, "append-1.db"));
      return {
        ours: async () => {
          for (let number = 1; number < EVENTS_A_RUN; number++) {
            store.append(eventOf(number));
            if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          await store.commit(eventOf(0)); // once this one is written, all are
        },
        ceiling: () => {
          for (let number = 0; number < EVENTS_A_RUN; number += 100) {
            hundred.database.exec("BEGIN IMMEDIATE");
            for (let row = number; row < number + 100; row++) hundred.insert(eventOf(row));
            hundred.database.exec("COMMIT");
          }
        },
        peer: () => {
          for (let number = 0; number < EVENTS_A_RUN; number++) single.insert(eventOf(number));
        },
        cleanUp: async () => {
          hundred.database.close();
          single.database.close();
          await store.close();
        },
      };
    },
  },
  {
    name: "events-commit",
    what: "the row of an act, on the disk before it runs; ceiling the driver with synchronous=FULL, peer with NORMAL",
    unit: "ms",
    scale: 1 / COMMITS_A_RUN,
    target: atMost(1.5),
    async prepare(folder) {
      const store = sqliteStore({ file: fresh(folder, "commit.db"), maxEvents: 10_000_000 });
      await store.commit(eventOf(0));
      const full = await rawDatabase(fresh(folder, "commit-full.db"), "FULL");
      const normal = await rawDatabase(fresh(folder, "commit-normal.db"));
      return {
        ours: async () => {
          for (let number = 0; number < COMMITS_A_RUN; number++) await store.commit(eventOf(number));
        },
        ceiling: () => {
          for (let number = 0; number < COMMITS_A_RUN; number++) full.insert(eventOf(number));
        },
        peer: () => {
          for (let number = 0; number < COMMITS_A_RUN; number++) normal.insert(eventOf(number));
        },
        cleanUp: async () => {
          full.database.close();
          normal.database.close();
          await store.close();
        },
      };
    },
  },
  {
    name: "events-open",
    what: `a database of ${KEPT} events opened, one event written, closed; ceiling the driver`,
    unit: "ms",
    scale: 1 / OPENINGS_A_RUN,
    target: within(5, "ms"),
    async prepare(folder) {
      const file = fresh(folder, "open.db");
      const store = sqliteStore({ file });
      for (let number = 0; number < KEPT; number++) store.append(eventOf(number));
      await store.close();
      return {
        ours: async () => {
          for (let opening = 0; opening < OPENINGS_A_RUN; opening++) {
            const opened = sqliteStore({ file });
            opened.append(eventOf(opening));
            await opened.close();
          }
        },
        ceiling: async () => {
          for (let opening = 0; opening < OPENINGS_A_RUN; opening++) {
            const { database, insert } = await rawDatabase(file);
            insert(eventOf(opening));
            database.close();
          }
        },
      };
    },
  },
];

/**
 * What a call says: four events, some 250 bytes each.
 *
 * @param {number} number
 * @returns {ActivityEvent}
 */
function eventOf(number) {
  const whose = {
    call: `01934c2e-7d1f-7000-8000-${String(number >> 2).padStart(12, "0")}`,
    thread: "main",
    at: Date.now(),
  };
  switch (number & 3) {
    case 0:
      return {
        ...whose,
        type: "call.started",
        name: "bash",
        input: { command: "npm test -- --run test/engine", timeout: 60 },
      };
    case 1:
      return {
        ...whose,
        type: "call.approved",
        effects: [{ kind: "exec", command: "npm test -- --run test/engine", cwd: "/home/someone/project" }],
        decision: { verdict: "allow", risk: "medium", rule: "commands" },
        ...{ userFacing: true }, // of events that earlier versions wrote
      };
    case 2:
      return { ...whose, type: "call.updated", update: { displayMessage: "Running npm test", data: { pid: number } } };
    default:
      return {
        ...whose,
        type: "call.finished",
        status: "ok",
        data: { exit: { how: "exited", code: 0 }, lines: number },
      };
  }
}

/**
 * The same table through the bare driver: Node's own if it has one, otherwise libsql. An existing database is only
 * opened.
 *
 * @param {string} file
 * @param {"NORMAL" | "FULL"} [synchronous]
 */
async function rawDatabase(file, synchronous = "NORMAL") {
  const database = await openRaw(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, call TEXT NOT NULL,
      thread TEXT NOT NULL, at INTEGER NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS events_call ON events (call);
    CREATE INDEX IF NOT EXISTS events_thread ON events (thread);
    CREATE INDEX IF NOT EXISTS events_begun ON events (session) WHERE type IN ('call.started', 'job.started');
    CREATE INDEX IF NOT EXISTS events_finished ON events (call) WHERE type = 'call.finished';`);
  const statement = database.prepare(
    "INSERT INTO events (session, call, thread, at, type, body) VALUES (1, ?, ?, ?, ?, ?)",
  );
  const insert = (/** @type {ActivityEvent} */ event) => {
    statement.run(event.call, event.thread, event.at, event.type, JSON.stringify(event));
  };
  return { database, insert };
}

/**
 * @param {string} file
 * @returns {Promise<Raw>}
 */
export async function openRaw(file) {
  const builtIn = /** @type {{ DatabaseSync: new (file: string) => Raw } | undefined} */ (
    process.getBuiltinModule?.("node:sqlite")
  );
  if (builtIn !== undefined) return new builtIn.DatabaseSync(file);
  const { default: Database } = await import("libsql");
  return new Database(file);
}

/**
 * @param {string} folder
 * @param {string} name
 */
function fresh(folder, name) {
  const file = join(folder, name);
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  return file;
}

/** @param {() => void} work */
function timed(work) {
  const started = performance.now();
  work();
  return performance.now() - started;
}
