import { type Work, all } from "./work.ts";

/** A field of an event's JSON that statements ask for. */
export type Facet = "question" | "lifetime" | "message.from";

/** What differs in the statements for the two databases. Everything else is the same for both. */
export interface Dialect {
  /** An expression for a field of an event, in the table with this alias. */
  facet(name: Facet, table?: string): string;
  /** Makes a statement use an index that SQLite would not choose. */
  indexed(index: string): string;
  /** A condition: locks a name, as the step `lock` does, unless another transaction has it. Always true for a file. */
  lockable(name: string): string;
  /** A condition on a text, with a parameter: a pattern in which `^` escapes. ASCII letters match in both cases. */
  like(column: string): string;
  /** A condition that a memory has all these words, with its parameter. */
  hasWords(words: readonly string[]): { readonly sql: string; readonly value: string };
  /**
   * The history that the server follows: a standby that is promoted begins a new one, and may lack the last commits of
   * the old one. Always 0 for a file.
   */
  readonly timeline: string;
  /** The current time, in milliseconds since 1970: "?" for a parameter of this process, else the server's. */
  readonly clock: string;
  /** An expression for the id of an event up to which nothing is missing: see `Sql.readKnown`. */
  readonly readable: string;
  /** A statement for the column `count`: cheap, and seldom less than the number of events. */
  readonly roughCount: string;
  /** A statement for the column `process`: the processes that have not reported for a long time, as `identityText`. */
  readonly silent?: string;
}

export const SQLITE: Dialect = {
  facet: (name, table = "events") => `json_extract(${table}.body, '$.${name}')`,
  indexed: (index) => `INDEXED BY ${index}`,
  lockable: () => "TRUE",
  like: (column) => `${column} LIKE ? ESCAPE '^'`,
  hasWords: (words) => ({
    sql: "memory_words MATCH ?",
    value: words.map((word) => `"${word}"`).join(" AND "),
  }),
  timeline: "0",
  clock: "?",
  readable: String(Number.MAX_SAFE_INTEGER), // what is visible is complete: one transaction at a time
  roughCount: "SELECT (SELECT max(id) FROM events) - (SELECT min(id) FROM events) + 1 AS count",
};

/**
 * After this time without a report, a process that this process cannot see counts as dead, unless it has asked for
 * less patience. Milliseconds.
 */
export const SILENT_MS = 30_000;

/** The server's clock, because the clocks of several machines differ. Milliseconds since 1970. */
export const SERVER_CLOCK = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** The maximum number of events of one transaction on PostgreSQL: ids are made of its number (postgres.ts). */
export const IDS = 4_096;

/** The class of the advisory locks of names on PostgreSQL: "HRDL", and the next number. */
export const NAMES = 1_213_351_501;

export const POSTGRES: Dialect = {
  facet: (_, table = "events") => `${table}.facet`,
  indexed: () => "",
  lockable: (name) => `pg_try_advisory_xact_lock(${NAMES}, hashtext(${name}))`,
  like: (column) => `${column} COLLATE "C" ILIKE ? ESCAPE '^'`,
  hasWords: (words) => ({ sql: "tokens @> string_to_array(?, ' ')", value: words.join(" ") }),
  timeline: "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint",
  clock: SERVER_CLOCK,
  readable: `(SELECT base + ${IDS} * pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 FROM positions)`,
  roughCount: "SELECT reltuples::bigint AS count FROM pg_class WHERE oid = 'events'::regclass",
  silent: `SELECT process FROM beats WHERE beat_at < ${SERVER_CLOCK} - patience`,
};

const NONE: ReadonlySet<string> = new Set();

/** The processes that have not reported for long, as `identityText`. Only a server knows: processes report there. */
export function* silentProcesses({ silent }: Dialect): Work<ReadonlySet<string>> {
  if (silent === undefined) return NONE;
  return new Set((yield* all<{ process: string }>(silent)).map(({ process }) => process));
}
