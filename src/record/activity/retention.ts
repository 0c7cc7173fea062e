import { setImmediate as nextTurn } from "node:timers/promises";
import type { Dialect } from "../db/dialect.ts";
import type { Sql } from "../db/sql.ts";
import { type Work, all, lock, run } from "../db/work.ts";
import { THREAD_PREFIX } from "./event-rows.ts";
import { closeSession, sessionsThatAre } from "./sessions.ts";

export interface RetentionOptions {
  readonly maxAgeDays: number;
  readonly maxEvents: number;
  /** The maximum size of the database, in bytes. Only checked where `Sql.usedBytes` knows the size. */
  readonly maxBytes: number;
}

const DAY_MS = 86_400_000;

/** The minimum interval of each task, in milliseconds, across all processes. */
const CHORES = {
  /** Checking for calls that are too old. */
  retention: DAY_MS,
  /** Removing old calls. The claim is released at the end; after this time its process is taken for dead. */
  removal: 60_000,
} as const;
type Chore = keyof typeof CHORES;

/** How many events one step checks. A step takes some milliseconds; other processes can write in between. */
const STEP_ROWS = 200;

/** How much one process writes, as fractions of the limits and in bytes, before it checks the limits. */
const LOOK_AFTER = 1 / 32;
const LOOK_AFTER_BYTES = 16_777_216;
/** The fraction of `maxBytes` that stays in use, because processes write between two checks. */
const USED = 7 / 8;
/** The size of a row without its body: the other columns and the indexes. */
const ROW_BYTES = 250;

/** Keeps a database within its limits while processes write to it. */
export interface Retention {
  /** Checks whether there is something to remove, and removes it in the background. Never throws. */
  look(database: Sql): void;
  /** Counts what this process has written, and checks after each 1/32 of a limit, and once a day. Never throws. */
  wrote(database: Sql, rows: readonly { readonly body: string }[]): void;
  /** Stops removing; the next process continues. Resolves when removing has stopped. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Removes finished calls and messages of threads, oldest first, when they are too old or too many: always whole calls,
 * and all messages of a thread. Keeps calls in progress and threads with a message within a day. Only one process
 * removes at a time. Never blocks: while others lock the database, the rest is left to the next check.
 */
export function createRetention(limits: RetentionOptions, now: () => number): Retention {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let events = 0;
  let bytes = 0;
  let lookedAt = -Infinity;

  const look = (database: Sql) => {
    if (running !== undefined || stopping.signal.aborted) return;
    [events, bytes, lookedAt] = [0, 0, now()];
    database.tidy();
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
async function retain(database: Sql, limits: RetentionOptions, now: () => number, stop: AbortSignal): Promise<void> {
  let claimed: readonly Chore[] = [];
  try {
    const isDaily = await database.read(() => isDue("retention", now()));
    if (!isDaily && !(await isOver(database, limits))) return;
    const chores = isDaily ? (["retention", "removal"] as const) : (["removal"] as const);
    if (!(await database.transaction(() => claim(chores, now())))) return;
    claimed = chores;
    if ((await isOver(database, limits)) || (await database.read(() => hasOld(database.dialect, limits, now())))) {
      const { step } = await removal(database, limits, now());
      while (!stop.aborted && !(await step())) await nextTurn();
    }
    await release(database, stop.aborted ? claimed : ["removal"]);
  } catch {
    await release(database, claimed);
  }
}

/** A cheap check before the claim. Usually nothing is to be removed, and no process should be locked out. */
function* isDue(chore: Chore, at: number): Work<boolean> {
  const [row] = yield* all<{ begun_at: number }>("SELECT begun_at FROM chores WHERE name = ?", [chore]);
  return (row?.begun_at ?? 0) <= at - CHORES[chore];
}

// Both may return true needlessly, but seldom false wrongly.

async function isOver(database: Sql, { maxEvents, maxBytes }: RetentionOptions): Promise<boolean> {
  const [events] = await database.read(() => all<{ count: number | null }>(database.dialect.roughCount));
  return (events?.count ?? 0) > maxEvents || ((await database.usedBytes()) ?? 0) > maxBytes * USED;
}

function* hasOld(dialect: Dialect, { maxAgeDays }: RetentionOptions, at: number): Work<boolean> {
  const [first] = yield* all<{ at: number }>("SELECT at FROM events ORDER BY id LIMIT 1");
  const oldest = at - maxAgeDays * DAY_MS;
  if ((first?.at ?? at) < oldest) return true;
  return (yield* sessionsThatAre(dialect, "unknown")).some(({ openedAt }) => openedAt < oldest);
}

function* claim(chores: readonly Chore[], at: number): Work<boolean> {
  yield* lock("chores");
  for (const chore of chores) if (!(yield* isDue(chore, at))) return false;
  yield* begun(chores, at);
  return true;
}

async function release(database: Sql, chores: readonly Chore[]): Promise<void> {
  if (chores.length === 0) return;
  // The database may be locked, full or unreachable: removing is retried when the claim expires.
  await database.transaction(() => begun(chores, 0)).catch(() => undefined);
}

function* begun(chores: readonly Chore[], at: number): Work<void> {
  for (const chore of chores) {
    yield* run(
      "INSERT INTO chores (name, begun_at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET begun_at = excluded.begun_at",
      [chore, at],
    );
  }
}

/** `step` resolves to true when nothing is left to do. */
async function removal(database: Sql, { maxAgeDays, maxEvents, maxBytes }: RetentionOptions, at: number) {
  const oldest = at - maxAgeDays * DAY_MS;
  await closeLostSessions();
  let excess = (await countEvents()) - maxEvents;
  let looked = 0;
  return { step };

  async function step(): Promise<boolean> {
    let excessBytes = ((await database.usedBytes()) ?? 0) - maxBytes * USED;
    const page = await database.read(() => nextPage(looked));
    const [first, last] = [page[0], page.at(-1)];
    if (first === undefined || last === undefined || !(excess > 0 || excessBytes > 0 || first.at < oldest)) {
      return await database.giveBack();
    }
    looked = last.id;
    const calls = [...new Set(page.map(({ call }) => call))];
    const ended = await database.read(() => finished(database.dialect, calls));
    const gone = ended.filter((call) => {
      const isRecentThread = call.call.startsWith(THREAD_PREFIX) && call.latest >= at - DAY_MS;
      const goes = !isRecentThread && (excess > 0 || excessBytes > 0 || call.latest < oldest);
      if (goes) excess -= call.count;
      if (goes) excessBytes -= call.bytes;
      return goes;
    });
    await database.transaction(function* () {
      for (const { call } of gone) {
        yield* run(NOTE_REMOVAL, [call, call]);
        yield* run("DELETE FROM events WHERE call = ?", [call]);
      }
      if (gone.length > 0) yield* forgetSeals();
    });
    await database.giveBack();
    return false;
  }

  /**
   * Ends sessions of other hosts and containers that were silent for too long. This process cannot see whether their
   * processes are alive.
   */
  async function closeLostSessions() {
    const lost = await database.read(() => sessionsThatAre(database.dialect, "unknown"));
    for (const { id } of lost.filter(({ openedAt }) => openedAt < oldest)) {
      const latest = await database.read(() => all<{ at: number }>(LATEST_OF_SESSION, [id]));
      if (latest.some((event) => event.at >= oldest)) continue;
      await closeSession(database, id, at);
    }
  }

  /** Avoids counting, which reads a whole index. A rough number shows faster that there cannot be too many events. */
  async function countEvents(): Promise<number> {
    const [rough] = await database.read(() => all<{ count: number | null }>(database.dialect.roughCount));
    if ((rough?.count ?? 0) <= maxEvents) return 0;
    const [exact] = await database.read(() => all<{ count: number }>("SELECT count(*) AS count FROM events"));
    return exact?.count ?? 0;
  }
}

const LATEST_OF_SESSION = "SELECT at FROM events WHERE session = ? ORDER BY id DESC LIMIT 1";

/** The events after this id. */
function nextPage(id: number): Work<{ id: number; call: string; at: number }[]> {
  return all("SELECT id, call, at FROM events WHERE id > ? ORDER BY id LIMIT ?", [id, STEP_ROWS]);
}

/** Those of the calls that have ended, and whose jobs have ended, except detached jobs: they may run for ever. */
function finished(
  { facet }: Dialect,
  calls: readonly string[],
): Work<{ call: string; latest: number; count: number; bytes: number }[]> {
  const count = (condition: string) => `count(*) FILTER (WHERE ${condition})`;
  return all(
    `SELECT call, max(at) AS latest, count(*) AS count, sum(octet_length(body)) AS bytes FROM events
       WHERE call IN (${calls.map(() => "?").join(", ")}) GROUP BY call
       HAVING ${count("type = 'call.finished'")} >= CASE WHEN ${count("type = 'call.started'")} > 0 THEN 1 ELSE 0 END
         AND ${count("type = 'job.ended'")} >= ${count(`type = 'job.started' AND ${facet("lifetime")} = 'toolkit'`)}
       ORDER BY min(id)`,
    calls,
  );
}

/** For `handrail verify`: these events were removed by retention. */
const NOTE_REMOVAL = `INSERT INTO removals (call, last) SELECT ?, max(id) FROM events WHERE call = ?
  ON CONFLICT (call) DO UPDATE SET last = excluded.last`;

/** Removes the seals before the oldest event. The newest of them becomes the checkpoint, from which seals go on. */
function* forgetSeals(): Work<void> {
  const [{ id: oldest } = { id: null }] = yield* all<{ id: number | null }>("SELECT min(id) AS id FROM events");
  if (oldest === null) return;
  const before = yield* all<{ first: number; last: number; hash: string }>(
    "SELECT first, last, hash FROM seals WHERE first < ? ORDER BY first DESC LIMIT 2",
    [oldest],
  );
  const newest = before.find(({ last }) => last < oldest);
  if (newest === undefined) return;
  yield* run("DELETE FROM checkpoint");
  yield* run("INSERT INTO checkpoint (first, last, hash) VALUES (?, ?, ?)", [newest.first, newest.last, newest.hash]);
  yield* run("DELETE FROM seals WHERE first <= ?", [newest.first]);
  yield* run("DELETE FROM removals WHERE last < ?", [oldest]);
}
