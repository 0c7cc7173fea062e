import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import type { DatabaseConnection } from "../db/driver.ts";
import { THREAD_PREFIX } from "./event-rows.ts";
import { closeSession, sessionsThatAre } from "./sessions.ts";

export interface RetentionOptions {
  readonly maxAgeDays: number;
  readonly maxEvents: number;
  /** The largest size of the database, in bytes. */
  readonly maxBytes: number;
}

const DAY_MS = 86_400_000;

/** The least interval of each task, in milliseconds, across all processes. */
const CHORES = {
  /** Checking for calls that are too old. */
  retention: DAY_MS,
  /** Removing. The claim is released at the end; after this time its process is taken for dead. */
  removal: 60_000,
} as const;
type Chore = keyof typeof CHORES;

/**
 * How many events one step checks, and how many pages it returns. A step takes some milliseconds; others can write in
 * between.
 */
const STEP_ROWS = 200;
const STEP_PAGES = 200;

/** How much one process writes, as fractions of the limits and in bytes, before it checks the limits. */
const LOOK_AFTER = 1 / 32;
const LOOK_AFTER_BYTES = 16_777_216;
/** The fraction of `maxBytes` that stays in use, since processes write between two checks. */
const USED = 7 / 8;
/** The size of a row besides its body: other columns and indexes. */
const ROW_BYTES = 250;

/** Keeps a database within its limits while processes write to it. */
export interface Retention {
  /** Checks whether there is something to remove, and removes it in the background. Never throws. */
  look(database: Database): void;
  /** Counts what this process has written, and checks after each 1/32 of a limit, and once a day. Never throws. */
  wrote(database: Database, rows: readonly { readonly body: string }[]): void;
  /** Stops removing; the next process continues. Resolves when nothing is being removed any more. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Removes whole finished calls, and the messages of whole threads, that are too old or too many, oldest first. Keeps
 * calls in progress and threads with a message within a day. Only one process removes at a time. Never blocks: while
 * others lock the database, the rest is left to the next check.
 */
export function createRetention(limits: RetentionOptions, now: () => number): Retention {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let events = 0;
  let bytes = 0;
  let lookedAt = -Infinity;

  const look = (database: Database) => {
    if (running !== undefined || stopping.signal.aborted) return;
    [events, bytes, lookedAt] = [0, 0, now()];
    database.shortenLog();
    running = retain(database, limits, now, stopping.signal).finally(() => (running = undefined));
  };

  return {
    look,
    wrote(database, rows) {
      events += rows.length;
      for (const { body } of rows) bytes += body.length + ROW_BYTES;
      const isMuch =
        events >= limits.maxEvents * LOOK_AFTER || bytes >= Math.min(limits.maxBytes * LOOK_AFTER, LOOK_AFTER_BYTES);
      if (isMuch || now() - lookedAt >= DAY_MS) look(database);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Never rejects. */
async function retain(
  database: Database,
  limits: RetentionOptions,
  now: () => number,
  stop: AbortSignal,
): Promise<void> {
  let claimed: readonly Chore[] = [];
  try {
    const { connection } = database;
    const isDaily = isDue(connection, "retention", now());
    if (!isDaily && !isOver(connection, limits)) return;
    const chores = isDaily ? (["retention", "removal"] as const) : (["removal"] as const);
    if (!claim(database, chores, now())) return;
    claimed = chores;
    if (isOver(connection, limits) || hasOld(connection, limits, now())) {
      const { step } = await removal(database, limits, now());
      while (!stop.aborted && !step()) await nextTurn();
    }
    release(database, stop.aborted ? claimed : ["removal"]);
  } catch {
    release(database, claimed);
  }
}

/** A cheap check before the claim. Usually there is nothing to remove, and no process should be locked out. */
function isDue(connection: DatabaseConnection, chore: Chore, at: number): boolean {
  const [row] = connection.all<{ begun_at: number }>("SELECT begun_at FROM chores WHERE name = ?", [chore]);
  return (row?.begun_at ?? 0) <= at - CHORES[chore];
}

// Both may return true needlessly, but never false wrongly. Written by hand, so that the builder is rarely loaded.

function isOver(connection: DatabaseConnection, { maxEvents, maxBytes }: RetentionOptions): boolean {
  const [events] = connection.all<{ count: number | null }>(
    "SELECT (SELECT max(id) FROM events) - (SELECT min(id) FROM events) + 1 AS count",
  );
  return (events?.count ?? 0) > maxEvents || usedBytes(connection) > maxBytes * USED;
}

function hasOld(connection: DatabaseConnection, { maxAgeDays }: RetentionOptions, at: number): boolean {
  const [first] = connection.all<{ at: number }>("SELECT at FROM events ORDER BY id LIMIT 1");
  const oldest = at - maxAgeDays * DAY_MS;
  return (first?.at ?? at) < oldest || sessionsThatAre(connection, "unknown").some(({ openedAt }) => openedAt < oldest);
}

function claim(database: Database, chores: readonly Chore[], at: number): boolean {
  return database.transaction((connection) => {
    if (!chores.every((chore) => isDue(connection, chore, at))) return false;
    for (const chore of chores) begun(connection, chore, at);
    return true;
  });
}

function release(database: Database, chores: readonly Chore[]): void {
  if (chores.length === 0) return;
  try {
    database.transaction((connection) => chores.forEach((chore) => begun(connection, chore, 0)));
  } catch {
    // locked or full: retried when the claim expires
  }
}

function begun(connection: DatabaseConnection, chore: Chore, at: number): void {
  connection.run("INSERT OR REPLACE INTO chores (name, begun_at) VALUES (?, ?)", [chore, at]);
}

/** `step` returns true when nothing is left to do. */
async function removal(database: Database, { maxAgeDays, maxEvents, maxBytes }: RetentionOptions, at: number) {
  const { builder, changes, rows } = await import("../db/builder.ts");
  const { sql } = await import("kysely");
  const { connection } = database;
  const oldest = at - maxAgeDays * DAY_MS;
  closeLostSessions();
  let excess = countEvents() - maxEvents;
  let looked = 0;
  return { step };

  function step(): boolean {
    let excessBytes = usedBytes(connection) - maxBytes * USED;
    const page = rows(connection, nextPage());
    const [first, last] = [page[0], page.at(-1)];
    if (first === undefined || last === undefined || !(excess > 0 || excessBytes > 0 || first.at < oldest)) {
      return giveBack(connection);
    }
    looked = last.id;
    const gone = rows(connection, finished([...new Set(page.map(({ call }) => call))])).filter((call) => {
      const isRecentThread = call.call.startsWith(THREAD_PREFIX) && call.latest >= at - DAY_MS;
      const goes = !isRecentThread && (excess > 0 || excessBytes > 0 || call.latest < oldest);
      if (goes) excess -= call.count;
      if (goes) excessBytes -= call.bytes;
      return goes;
    });
    const deletions = gone.map(({ call }) => builder.deleteFrom("events").where("call", "=", call));
    database.transaction(() => deletions.forEach((deletion) => void changes(connection, deletion)));
    giveBack(connection);
    return false;
  }

  function nextPage() {
    return builder
      .selectFrom("events")
      .select(["id", "call", "at"])
      .where("id", ">", looked)
      .orderBy("id")
      .limit(STEP_ROWS);
  }

  /** Returns the calls that have ended, and so have their jobs. Detached jobs do not count: they may run for ever. */
  function finished(calls: readonly string[]) {
    const count = (condition: ReturnType<typeof sql<boolean>>) => sql<number>`count(*) FILTER (WHERE ${condition})`;
    return builder
      .selectFrom("events")
      .select(({ fn }) => [
        "call",
        fn.max("at").as("latest"),
        fn.countAll<number>().as("count"),
        sql<number>`sum(octet_length(body))`.as("bytes"),
      ])
      .where("call", "in", calls)
      .groupBy("call")
      .having(count(sql`type = 'call.finished'`), ">=", sql<number>`min(1, ${count(sql`type = 'call.started'`)})`)
      .orderBy(({ fn }) => fn.min("id"))
      .having(
        count(sql`type = 'job.ended'`),
        ">=",
        count(sql`type = 'job.started' AND json_extract(body, '$.lifetime') = 'toolkit'`),
      );
  }

  /**
   * Ends sessions of other hosts and containers that were silent for too long. Whether their processes are alive is not
   * visible from here.
   */
  function closeLostSessions() {
    for (const { id } of sessionsThatAre(connection, "unknown").filter(({ openedAt }) => openedAt < oldest)) {
      const latest = builder.selectFrom("events").select("at").where("session", "=", id).orderBy("id", "desc").limit(1);
      if (rows(connection, latest).some((event) => event.at >= oldest)) continue;
      closeSession(database, id, at);
    }
  }

  /** Avoids counting, which reads a whole index: the ids show faster that there cannot be too many. */
  function countEvents(): number {
    const [most] = rows(
      connection,
      builder.selectFrom("events").select(sql<number>`max(id) - min(id) + 1`.as("count")),
    );
    if ((most?.count ?? 0) <= maxEvents) return 0;
    return (
      rows(
        connection,
        builder.selectFrom("events").select(({ fn }) => fn.countAll<number>().as("count")),
      )[0]?.count ?? 0
    );
  }
}

/** Returns the size of the pages in use, in bytes. */
function usedBytes(connection: DatabaseConnection): number {
  const [pages] = connection.all<{ bytes: number }>(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  return pages?.bytes ?? 0;
}

/** Shrinks the file by some unused pages. Returns true when none are left. */
function giveBack(connection: DatabaseConnection): boolean {
  connection.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
  return (connection.all<{ freelist_count: number }>("PRAGMA freelist_count")[0]?.freelist_count ?? 0) === 0;
}
