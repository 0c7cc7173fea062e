import type { FeedOptions, StoredEvent } from "../contract/activity.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Database } from "../db/database.ts";
import { keyOf, threadKey } from "./event-rows.ts";
import { isAskedFor } from "./threads.ts";
import { type Wake, createWake } from "./wake.ts";

/** Rows that are in memory at a time. */
const PAGE_ROWS = 100;

/** How often those who follow look for what other processes have written. */
const LOOK_MS = 100;

export interface EventFeedOptions {
  /** The database for as long as it is read; `release` when that is over. */
  readonly borrow: () => Promise<{ readonly database: Database; release(): void }>;
  /** Resolves when what was taken before is readable. */
  readonly settled: () => Promise<void>;
}

/** Reads events out of the database, and follows it. */
export interface EventFeed {
  events(options?: FeedOptions): AsyncGenerator<StoredEvent>;
  /** There is something new to read. */
  wake(): void;
  /** Those who follow read what is there, and end. */
  close(): void;
}

export function createEventFeed({ borrow, settled }: EventFeedOptions): EventFeed {
  let change: Wake | undefined;
  let closed = false;
  let followers = 0;
  let watch: NodeJS.Timeout | undefined;
  let version: number | undefined;

  const wake = () => {
    change?.resolve();
    change = undefined;
  };

  /** One look for all who follow, and none while nobody does. A change since the last look of all is news, at worst twice. */
  const startWatching = (database: Database) => {
    followers += 1;
    version ??= database.dataVersion();
    watch ??= setInterval(() => {
      const found = versionOf(database);
      if (found === version) return;
      version = found;
      wake();
    }, LOOK_MS).unref();
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
    async *events({ after = 0, thread, call, messages = false, follow = false, signal } = {}) {
      if (signal?.aborted) return;
      await settled();
      const { database, release } = await borrow();
      if (follow) startWatching(database);
      try {
        const readPage = await pageReader(database, { thread, call, messages });
        let seen = after;
        while (!signal?.aborted) {
          change ??= createWake();
          const next = change; // taken before reading: what comes after it is not slept through
          const last = closed;
          const page = await readPage(seen);
          for (const { id, body } of page) {
            seen = id;
            const event = storedEvent(id, body);
            if (thread !== undefined && event.thread !== thread) continue;
            if (!isAskedFor(event, call, messages)) continue;
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

/** A call has one thread and few events, so it is looked for alone when both are given. */
type PageReader = (after: number) => Promise<readonly { readonly id: number; readonly body: string }[]>;

async function pageReader(
  database: Database,
  { thread, call, messages }: { thread: ThreadId | undefined; call: CallId | undefined; messages: boolean },
): Promise<PageReader> {
  const { builder, rows } = await import("../db/builder.ts");
  const key = call ?? (messages && thread !== undefined ? threadKey(thread) : undefined);
  const query = builder
    .selectFrom("events")
    .select(["id", "body"])
    .$if(key === undefined && thread !== undefined, (events) => events.where("thread", "=", keyOf(thread ?? "")))
    .$if(key !== undefined, (events) => events.where("call", "=", keyOf(key ?? "")))
    .orderBy("id")
    .limit(PAGE_ROWS);
  return (after) => database.patiently(() => rows(database.connection, query.where("id", ">", after)));
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
