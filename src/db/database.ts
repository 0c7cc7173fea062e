import { statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createPrivateFile, hasCode } from "../util/private-file.ts";
import { type Connection, type Engine, loadEngine } from "./driver.ts";
import { explained, isBusy } from "./failure.ts";
import { RECORD_TABLES, migrate } from "./migrations.ts";

export interface DatabaseOptions {
  /** Absolute. Made when it is not there, for this user alone (0600, missing folders 0700). */
  readonly file: string;
  /** How long to wait for a database that others keep locked, in milliseconds. Default 10,000. */
  readonly patienceMs?: number;
  /** Default: the SQLite of this Node, else libsql. */
  readonly engine?: Engine;
  /** What makes the tables: each entry takes the file one version up. Default: those of the record. */
  readonly tables?: readonly string[];
}

/**
 * An open SQLite database. Work on it is synchronous, so that no lock is held from one turn of the event loop to the next; waiting for
 * others is not. Give the work to `patiently`, which tries it again while the database is locked and puts errors into sentences.
 */
export interface Database {
  readonly connection: Connection;
  /**
   * One transaction, which others see whole or not at all. `durable`: it survives the loss of power as well as the death of this process;
   * otherwise that is so a little later. Throws what the work throws, and SQLite's own errors; nothing has been written then.
   */
  transaction<T>(work: (connection: Connection) => T, options?: { readonly durable?: boolean }): T;
  /** Rejects with a sentence that names the file and says what to do. */
  patiently<T>(work: () => T): Promise<T>;
  /** The same error as a sentence. */
  explain(error: unknown): Error;
  /**
   * Empties the write-ahead log when it is larger than 16 MiB, unless another connection is in the way. SQLite itself does so only when a
   * writer finds all of the log copied and nobody reading, which several busy processes may never leave it. Never throws.
   */
  shortenLog(): void;
  /** A number that changes when another connection has written. */
  dataVersion(): number;
  close(): void;
}

/** SQLite itself waits this long for a lock, with the event loop held; most are let go within a millisecond. */
const HELD_MS = 10;

/** Between two attempts, with the event loop free: doubling from the first to the second. */
const SHORTEST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/** What a flood of writing leaves of the write-ahead log. */
const LOG_BYTES = 16_777_216;

/**
 * Opens a database, making and migrating it as needed.
 *
 * @throws Error, a sentence with the file and what to do: not a database, damaged, not writable, of another program, of a newer version,
 *   locked all the time, no engine on this machine.
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
        // there is none, or it is locked
      }
    },
    dataVersion: () => connection.all<{ data_version: number }>("PRAGMA data_version")[0]?.data_version ?? 0,
    close: () => connection.close(),
  };
}

/**
 * The file itself is made before SQLite sees it, for its mode; log and shared memory take theirs from it. A database that is there is never
 * opened by other means: closing it again would take SQLite's locks away from the whole process (POSIX).
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

function connect(open: Engine, file: string, tables: readonly string[]): Connection {
  const connection = open(file);
  try {
    connection.exec(
      `PRAGMA busy_timeout = ${HELD_MS}; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = ${LOG_BYTES}`,
    );
    migrate(connection, file, tables);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** SQLite has already rolled back after some errors (a full disk), and then says that there is nothing to roll back. */
function rollBack(connection: Connection): void {
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
    await delay(pause * (0.5 + Math.random())); // not in step with the others that wait
  }
}
