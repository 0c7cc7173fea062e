import { statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createPrivateFile, hasCode } from "../../core/util/private-file.ts";
import { type DatabaseConnection, type Engine, loadEngine } from "./driver.ts";
import { explained, isBusy } from "./failure.ts";
import { RECORD_TABLES, migrate } from "./migrations.ts";

export interface DatabaseOptions {
  /** Absolute path. Created if missing, for this user only (0600, missing folders 0700). */
  readonly file: string;
  /** How long to wait for a database that other processes keep locked, in milliseconds. Default 10,000. */
  readonly patienceMs?: number;
  /** Default: Node's own SQLite, else libsql. */
  readonly engine?: Engine;
  /** The statements that create the tables: each entry raises the file by one version. Default: the record's tables. */
  readonly tables?: readonly string[];
}

/**
 * An open SQLite database. Work on it is synchronous, so that no lock is held across turns of the event loop. Waiting
 * for others is asynchronous: pass the work to `patiently`, which repeats it while the database is locked and explains
 * errors.
 */
export interface Database {
  readonly connection: DatabaseConnection;
  /**
   * Runs one atomic transaction. `durable`: it survives a power loss, not only the death of this process, when this
   * returns; otherwise soon after. Throws what the work throws, and SQLite's own errors; then nothing was written.
   */
  transaction<T>(work: (connection: DatabaseConnection) => T, options?: { readonly durable?: boolean }): T;
  /**
   * Runs work, and repeats it while the database is locked. Rejects with an error that names the file and the next
   * step.
   */
  patiently<T>(work: () => T): Promise<T>;
  /** Returns an error of SQLite as a sentence that names the file and the next step. */
  explain(error: unknown): Error;
  /**
   * Empties the write-ahead log when it is larger than 16 MiB, unless another connection prevents that. SQLite only
   * does so when a writer finds the whole log copied and no reader, which may never happen with several busy processes.
   * Never throws.
   */
  shortenLog(): void;
  /** A number that changes when another connection writes. */
  dataVersion(): number;
  close(): void;
}

/** How long SQLite waits for a lock and blocks the event loop. Most locks last under a millisecond. Milliseconds. */
const HELD_MS = 10;

/** The pause between two attempts, without blocking: doubles from the first value to the second. Milliseconds. */
const SHORTEST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/** The size above which the write-ahead log is emptied. Bytes. */
const LOG_BYTES = 16_777_216;

/**
 * Opens a database; creates and migrates it as needed.
 *
 * @throws Error, a sentence with the file and what to do, for a file that is not a database, damaged, not writable, of
 *   another program, of a newer version, or locked for too long, and if there is no engine on this machine.
 */
export async function openDatabase({
  file,
  patienceMs = 10_000,
  engine,
  tables = RECORD_TABLES,
}: DatabaseOptions): Promise<Database> {
  const open = engine ?? (await loadEngine());
  await makeFile(file);
  const connection = await patiently(() => connect(open, file, tables), file, patienceMs);
  let durableNow = false;

  return {
    connection,
    transaction(work, { durable = false } = {}) {
      if (durable !== durableNow) connection.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
      durableNow = durable;
      connection.exec("BEGIN IMMEDIATE");
      try {
        const result = work(connection);
        connection.exec("COMMIT");
        return result;
      } catch (error) {
        rollBack(connection);
        throw error;
      }
    },
    patiently: (work) => patiently(work, file, patienceMs),
    explain: (error) => explained(error, file, 0),
    shortenLog() {
      try {
        if (statSync(`${file}-wal`).size > LOG_BYTES) connection.all("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // there is no engine, or the file is locked
      }
    },
    dataVersion: () => connection.all<{ data_version: number }>("PRAGMA data_version")[0]?.data_version ?? 0,
    close: () => connection.close(),
  };
}

/**
 * The file itself is made before SQLite sees it, for its mode; log and shared memory take theirs from it. A database
 * that is there is never opened by other means: closing it again would take SQLite's locks away from the whole process
 * (POSIX).
 */
async function makeFile(file: string): Promise<void> {
  try {
    await (await createPrivateFile(dirname(file), basename(file))).close();
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    throw new Error(
      `${file} cannot be made (${(error as Error).message}). Name a file in a folder that you may write to.`,
      {
        cause: error,
      },
    );
  }
}

function connect(open: Engine, file: string, tables: readonly string[]): DatabaseConnection {
  const connection = open(file);
  try {
    connection.exec(
      `PRAGMA busy_timeout = ${HELD_MS}; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA ` +
        `journal_size_limit = ${LOG_BYTES}`,
    );
    migrate(connection, file, tables);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Rolls back. After some errors (a full disk) SQLite has already done so, and reports that there is nothing to roll
 * back.
 */
function rollBack(connection: DatabaseConnection): void {
  try {
    connection.exec("ROLLBACK");
  } catch {
    // the first error is the one that counts
  }
}

async function patiently<T>(work: () => T, file: string, patienceMs: number): Promise<T> {
  const begun = Date.now();
  for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return work();
    } catch (error) {
      const waitedMs = Date.now() - begun;
      if (!isBusy(error) || waitedMs >= patienceMs) throw explained(error, file, waitedMs);
    }
    await delay(pause * (0.5 + Math.random())); // random, so that waiting processes do not collide
  }
}
