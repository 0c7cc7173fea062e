import type { FeedOptions, StoredEvent } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
import type { Database } from "../db/database.ts";
import type { Value } from "../db/driver.ts";
import { keyOf, threadKey } from "./event-rows.ts";
import { type Choice, isAskedFor } from "./threads.ts";
import { type Wake, createWake } from "./wake.ts";

/** Rows that are in memory at a time. */
const PAGE_ROWS = 100;

/** How often what processes that have died left in progress is closed: what is followed shows it. */
const TEND_MS = 5_000;

export interface EventFeedOptions {
  /** The database for as long as it is read; `release` when that is over. */
  readonly borrow: () => Promise<{ readonly database: Database; release(): void }>;
  /** Resolves when what was taken before is readable. */
  readonly settled: () => Promise<void>;
  /** How often those who follow look for what other processes have written, in milliseconds. */
  readonly lookMs: number;
  /** Closes what processes that have died left in progress; resolves to true when there was something. Never rejects. */
  readonly tend: (database: Database) => Promise<boolean>;
}

/** Reads events out of the database, and follows it. */
export interface EventFeed {
  events(options?: FeedOptions): AsyncGenerator<StoredEvent>;
  /** There is something new to read. */
  wake(): void;
  /** Those who follow read what is there, and end. */
  close(): void;
}

export function createEventFeed({ borrow, settled, tend, lookMs }: EventFeedOptions): EventFeed {
  let change: Wake | undefined;
  let closed = false;
  let followers = 0;
  let watch: NodeJS.Timeout | undefined;
  let version: number | undefined;
  let looks = 0;

  const wake = () => {
    change?.resolve();
    change = undefined;
  };

  /** One look for all who follow, and none while nobody does. A change since the last look of all is news, at worst twice. */
  const startWatching = (database: Database) => {
    followers += 1;
    version ??= database.dataVersion();
    watch ??= setInterval(() => {
      if (++looks % Math.ceil(TEND_MS / lookMs) === 0) void tend(database).then((hasClosed) => hasClosed && wake());
      const found = versionOf(database);
      if (found === version) return;
      version = found;
      wake();
    }, lookMs).unref();
  };

  const stopWatching = () => {
    followers -= 1;
    if (followers > 0) return;
    clearInterval(watch);
    watch = undefined;
  };

  return {
    wake,
    close() {
      closed = true;
      wake();
    },
    async *events({ after = 0, thread, follow = false, signal, ...choice } = {}) {
      if (signal?.aborted) return;
      await settled();
      const { database, release } = await borrow();
      if (follow) startWatching(database);
      try {
        let seen = after === "now" ? await newestId(database) : after;
        const readPage = pageReader(database, thread, choice);
        while (!signal?.aborted) {
          change ??= createWake();
          const next = change; // taken before reading: what comes after it is not slept through
          const last = closed;
          const page = await readPage(seen);
          for (const { id, body } of page) {
            seen = id;
            if (body === null) continue;
            const event = storedEvent(id, body);
            if (thread !== undefined && event.thread !== thread) continue;
            if (!isAskedFor(event, choice)) continue;
            yield event;
            if (signal?.aborted) return;
          }
          if (page.length === PAGE_ROWS) continue;
          if (!follow || last) return;
          if (!closed) await next.untilResolved(signal);
        }
      } finally {
        if (follow) stopWatching();
        release();
      }
    },
  };
}

type PageReader = (after: number) => Promise<readonly { readonly id: number; readonly body: string | null }[]>;

/**
 * A call has one thread and few events, so it is looked for alone when both are given. Events of other types come without their body: whoever
 * follows rare types goes on behind them, and does not read them again at each look.
 */
function pageReader(
  database: Database,
  thread: ThreadId | undefined,
  { call, messages = false, types }: Choice,
): PageReader {
  const key = call ?? (messages && thread !== undefined ? threadKey(thread) : undefined);
  const values: Value[] = [];
  const where = (condition: string, ...of: readonly string[]) => {
    values.push(...of);
    return ` AND ${condition}`;
  };
  const chosen =
    (key === undefined ? "" : where("call = ?", keyOf(key))) +
    (key === undefined && thread !== undefined ? where("thread = ?", keyOf(thread)) : "");
  const body = types === undefined ? "body" : `iif(type IN (${types.map((type) => `'${type}'`).join()}), body, NULL)`;
  const sql = `SELECT id, ${body} AS body FROM events WHERE id > ?${chosen} ORDER BY id LIMIT ${PAGE_ROWS}`;
  return (after) => database.patiently(() => database.connection.all(sql, [after, ...values]));
}

async function newestId(database: Database): Promise<number> {
  const [newest] = await database.patiently(() =>
    database.connection.all<{ id: number | null }>("SELECT max(id) AS id FROM events"),
  );
  return newest?.id ?? 0;
}

function storedEvent(id: number, body: string): StoredEvent {
  const event = JSON.parse(body) as StoredEvent;
  return Object.assign(event, { id });
}

/** A look that fails (the database is busy) is no news; the next one is soon. */
function versionOf(database: Database): number | undefined {
  try {
    return database.dataVersion();
  } catch {
    return undefined;
  }
}
