import { resolve } from "node:path";
import type { Store } from "../../core/contract/activity.ts";
import { openSqlite } from "../db/sqlite.ts";
import { requireLimits, sqlStore } from "./sql-store.ts";

export interface SqliteStoreOptions {
  /** The file, created with mode 0600 (missing folders 0700). Several processes may share it. */
  readonly file: string;
  /** Days after which ended calls are removed. Default 30. */
  readonly maxAgeDays?: number;
  /** The maximum number of events. Beyond it, the oldest calls are removed. Default 200,000. */
  readonly maxEvents?: number;
  /**
   * The maximum number of bytes of the database. Beyond it, the oldest calls are removed. The write-ahead log of some
   * 16 MB is not included. Default `DEFAULT_MAX_DATABASE_BYTES`.
   */
  readonly maxBytes?: number;
  /**
   * How much live output of one call is recorded, in characters; a line reports the rest as omitted. Default 1,048,576.
   */
  readonly liveOutput?: number;
  /** How long to wait for a database that another process locks, in milliseconds. Default 10,000. */
  readonly patienceMs?: number;
  /**
   * How often followers check for events of other processes where the system reports no writes (a network file system,
   * another system than Linux), and how often a turn asks for a thread that another has. Milliseconds. Default 100.
   */
  readonly lookMs?: number;
  /** Milliseconds since 1970. Default: the current time. */
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
  requireLimits({ maxAgeDays, maxEvents, maxBytes, liveOutput, patienceMs, lookMs });
  const path = resolve(file);
  return sqlStore({
    database: () => openSqlite({ file: path, patienceMs }, lookMs),
    limits: { maxAgeDays, maxEvents, maxBytes },
    liveOutput,
    askMs: lookMs,
    now,
  });
}
