import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "../db/database.ts";
import type { Connection } from "../db/driver.ts";
import { closeSession, sessionsThatAre } from "./sessions.ts";

export interface RetentionOptions {
  readonly maxAgeDays: number;
  readonly maxEvents: number;
  /** Of the database, in bytes. */
  readonly maxBytes: number;
}

const DAY_MS = 86_400_000;
const CHORE = "retention";

/** Events that one step looks at, and pages that it gives back. A step takes some milliseconds, and others write between two. */
const STEP_ROWS = 200;
const STEP_PAGES = 200;

/**
 * Removes whole finished calls, the oldest first, that are too old or too many; calls in progress stay. Does something at most once a
 * day, whichever process comes first. Never rejects, and waits for nobody: where others keep the database locked, the rest is left to
 * the next process that opens it.
 *
 * @param stop leaves the rest to the next process too
 */
export async function retain(
  database: Database,
  limits: RetentionOptions,
  now: () => number,
  stop: AbortSignal,
): Promise<void> {
  try {
    if (!isDue(database.connection, now()) || !claim(database, now())) return;
    if (!isNeeded(database.connection, limits, now())) return;
  } catch {
    return;
  }
  try {
    const { step } = await removal(database, limits, now());
    while (!stop.aborted) {
      if (step()) return;
      await nextTurn();
    }
    unclaim(database);
  } catch {
    unclaim(database);
  }
}

/** A look before the claim: most who come by have nothing to do, and should lock nobody out. */
function isDue(connection: Connection, at: number): boolean {
  const [chore] = connection.all<{ begun_at: number }>("SELECT begun_at FROM chores WHERE name = ?", [CHORE]);
  return (chore?.begun_at ?? 0) <= at - DAY_MS;
}

/** May say yes for nothing, never no for something. Written by hand: most days this is all, and the builder need not be loaded. */
function isNeeded(connection: Connection, { maxAgeDays, maxEvents, maxBytes }: RetentionOptions, at: number): boolean {
  const [events] = connection.all<{ count: number | null; first: number | null }>(
    `SELECT (SELECT max(id) FROM events) - (SELECT min(id) FROM events) + 1 AS count,
            (SELECT at FROM events ORDER BY id LIMIT 1) AS first`,
  );
  const oldest = at - maxAgeDays * DAY_MS;
  return (
    (events?.count ?? 0) > maxEvents ||
    (events?.first ?? at) < oldest ||
    usedBytes(connection) > maxBytes ||
    sessionsThatAre(connection, "unknown").some(({ openedAt }) => openedAt < oldest)
  );
}

function claim(database: Database, at: number): boolean {
  return database.transaction((connection) => isDue(connection, at) && begun(connection, at));
}

function unclaim(database: Database): void {
  try {
    database.transaction((connection) => begun(connection, 0));
  } catch {
    // locked or full: then it is done tomorrow
  }
}

function begun(connection: Connection, at: number): boolean {
  connection.run("INSERT OR REPLACE INTO chores (name, begun_at) VALUES (?, ?)", [CHORE, at]);
  return true;
}

/** `step` gives true when nothing is left to do. */
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
    let excessBytes = usedBytes(connection) - maxBytes;
    const page = rows(connection, nextPage());
    const [first, last] = [page[0], page.at(-1)];
    if (first === undefined || last === undefined || !(excess > 0 || excessBytes > 0 || first.at < oldest)) {
      return giveBack(connection);
    }
    looked = last.id;
    const gone = rows(connection, finished([...new Set(page.map(({ call }) => call))])).filter((call) => {
      const goes = excess > 0 || excessBytes > 0 || call.latest < oldest;
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

  /** Of these calls those that are over, with their jobs. A detached job holds nothing: it may run for ever. */
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
        count(sql`type = 'job.started' AND NOT json_extract(body, '$.detached')`),
      );
  }

  /** What other hosts and containers have left and not come back for: whether they live cannot be seen from here, but their silence can. */
  function closeLostSessions() {
    for (const { id } of sessionsThatAre(connection, "unknown").filter(({ openedAt }) => openedAt < oldest)) {
      const latest = builder.selectFrom("events").select("at").where("session", "=", id).orderBy("id", "desc").limit(1);
      if (rows(connection, latest).some((event) => event.at >= oldest)) continue;
      closeSession(database, id, at);
    }
  }

  /** Counting reads an index whole; the numbers say more quickly that it cannot be too many. */
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

/** Pages that hold something. */
function usedBytes(connection: Connection): number {
  const [pages] = connection.all<{ bytes: number }>(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  return pages?.bytes ?? 0;
}

/** Shortens the file by some of the pages that hold nothing. True when none are left. */
function giveBack(connection: Connection): boolean {
  connection.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`);
  return (connection.all<{ freelist_count: number }>("PRAGMA freelist_count")[0]?.freelist_count ?? 0) === 0;
}
