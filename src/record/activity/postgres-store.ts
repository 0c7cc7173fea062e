import type { Store } from "../../core/contract/activity.ts";
import { openPostgres } from "../db/postgres.ts";
import { requireLimits, sqlStore } from "./sql-store.ts";

export interface PostgresStoreOptions {
  /** `postgres://USER@HOST:PORT/DATABASE`. The password may be in PGPASSWORD or ~/.pgpass. */
  readonly url: string;
  /** Days after which ended calls are removed. Default 30. */
  readonly maxAgeDays?: number;
  /** The maximum number of events. Beyond it, the oldest calls are removed. Default 10,000,000. */
  readonly maxEvents?: number;
  /**
   * How much live output of one call is recorded, in characters; a line reports the rest as omitted. Default 1,048,576.
   */
  readonly liveOutput?: number;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

/** How often a turn asks again for a thread that another turn has, in milliseconds. */
const ASK_MS = 100;

/**
 * A store in a PostgreSQL database, which processes of several machines share. Needs the package `pg`, and tables that
 * `handrail store migrate` creates. It also keeps the memories and schedules of toolkits that have it.
 *
 * - Like `sqliteStore` in what it records, when, and what it throws. Every event survives a loss of power.
 * - A process of another machine counts as dead when it has not reported for 30 seconds: its calls are then closed as
 *   interrupted, and the threads that it took are free. A call ends once: a later end of it is dropped.
 * - While the server is away, events wait to be written, followers wait, and everything else rejects after 10 seconds.
 *   What was lost during a commit is written once: the server is asked whether it was recorded.
 *
 * @throws RangeError for a limit that is not an integer above 0.
 */
export function postgresStore({
  url,
  maxAgeDays = 30,
  maxEvents = 10_000_000,
  liveOutput = 1_048_576,
  now = Date.now,
}: PostgresStoreOptions): Store {
  requireLimits({ maxAgeDays, maxEvents, liveOutput });
  return {
    ...sqlStore({
      database: () => openPostgres(url),
      limits: { maxAgeDays, maxEvents, maxBytes: Infinity },
      liveOutput,
      askMs: ASK_MS,
      now,
    }),
    url,
  };
}
