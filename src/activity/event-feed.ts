import type { FeedOptions, StoredEvent } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
import type { Database } from "../db/database.ts";
import type { Value } from "../db/driver.ts";
import { keyOf, threadKey } from "./event-rows.ts";
import { type Choice, isAskedFor } from "./threads.ts";
import { type Wake, createWake } from "./wake.ts";

/** How many rows are in memory at a time. */
const PAGE_ROWS = 100;

/** How often a follower closes what dead processes left in progress. */
const TEND_MS = 5_000;

export interface EventFeedOptions {
  /** The database while it is being read; call `release` afterwards. */
  readonly borrow: () => Promise<{ readonly database: Database; release(): void }>;
  /** Resolves when all events taken so far are readable. */
  readonly settled: () => Promise<void>;
  /** How often followers check for events of other processes, in milliseconds. */
  readonly lookMs: number;
  /** Closes what dead processes left in progress. Resolves to whether there was anything. Never rejects. */
  readonly tend: (database: Database) => Promise<boolean>;
}

/** Reads events from the database, and follows it. */
export interface EventFeed {
  events(options?: FeedOptions): AsyncGenerator<StoredEvent>;
  /** Wakes followers: there are new events. */
  wake(): void;
  /** Ends the followers, after they have read the remaining events. */
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

  /**
   * One timer for all followers, and none without followers. A change since the last check wakes all; a follower may be
   * woken once too often.
   */
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
          const next = change; // before reading, so that later events wake it
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
 * A call has one thread and few events, so its id alone selects them. Events of other types come without a body: a
 * follower of rare types advances past them, and does not read them again.
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

/** A failed check (the database is busy) is retried soon. */
function versionOf(database: Database): number | undefined {
  try {
    return database.dataVersion();
  } catch {
    return undefined;
  }
}
