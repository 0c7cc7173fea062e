import type { FeedOptions, StoredEvent } from "../../core/contract/activity.ts";
import type { ThreadId } from "../../core/contract/identity.ts";
import type { Value } from "../db/driver.ts";
import type { Dialect } from "../db/dialect.ts";
import { IS_SIGNAL, SIGNALS } from "../db/signals.ts";
import type { Interest, ReadableRow, Sql } from "../db/sql.ts";
import { type Work, all } from "../db/work.ts";
import { Stop } from "../../core/util/abort.ts";
import { eventOf, keyOf, threadKey } from "./event-rows.ts";
import { type Choice, isAskedFor } from "./threads.ts";
import { soonest } from "../../core/util/soonest.ts";
import { createWake } from "../../core/util/wake.ts";

/** How many rows are in memory at a time. */
const PAGE_ROWS = 100;

/** How soon after a change a follower closes what dead processes left in progress. Milliseconds. */
const TEND_MS = 5_000;

export interface EventFeedOptions {
  /** The database while it is being read; call `release` afterwards. */
  readonly borrow: () => Promise<{ readonly database: Sql; release(): void }>;
  /** Resolves when all events taken so far are readable. */
  readonly settled: () => Promise<void>;
  /**
   * Closes what dead processes left in progress (calls, jobs), and what is too late. Never rejects. Resolves to when it
   * is to be called again although nothing has changed, in milliseconds; `undefined` if nothing is in progress.
   */
  readonly tend: (database: Sql) => Promise<number | undefined>;
}

/** Reads events from the database, and follows it. */
export interface EventFeed {
  events(options?: FeedOptions): AsyncGenerator<StoredEvent>;
  /** Ends the followers, after they have read the remaining events. */
  close(): void;
}

export function createEventFeed({ borrow, settled, tend }: EventFeedOptions): EventFeed {
  /** Wakes each follower. */
  const followers = new Set<() => void>();
  let closed = false;
  let tended: Sql | undefined;
  const closing = new AbortController();

  /** While nothing is in progress, nothing is planned. */
  const tending = soonest(() => void tendNow());
  const tendNow = async () => {
    const inMs = tended && (await tend(tended));
    if (inMs !== undefined && tended !== undefined) tending.in(inMs);
  };

  /** A follower may be woken needlessly, and is not woken for events of other threads and types than its own. */
  const join = (database: Sql, interest: Interest, wake: () => void) => {
    const changed = () => {
      tending.in(TEND_MS);
      wake();
    };
    const stopWatching = database.watch(changed, interest);
    tended = database;
    tending.in(TEND_MS);
    followers.add(wake);
    return () => {
      stopWatching();
      followers.delete(wake);
      if (followers.size > 0) return;
      tending.stop();
      tended = undefined;
    };
  };

  return {
    close() {
      closed = true;
      closing.abort(new Error("the store is closed"));
      for (const wake of followers) wake();
    },
    async *events({ after = 0, thread, follow = false, begun, signal, ...choice } = {}) {
      if (signal?.aborted) return;
      await settled();
      const { database, release } = await borrow();
      const interest = { thread: thread === undefined ? undefined : keyOf(thread), types: choice.types };
      let next = createWake();
      const leave = follow ? join(database, interest, () => next.resolve()) : undefined;
      // A follower waits for a server that cannot be reached.
      const stop = follow ? new Stop(closing.signal, ...(signal === undefined ? [] : [signal])) : undefined;
      const until = stop?.signal;
      let lagMs = 0;
      try {
        let seen = after === "now" ? await newestId(database) : after;
        begun?.();
        let end = follow ? 0 : await database.readableTo();
        const pageAfter = pageReader(database.dialect, thread, choice);
        while (!signal?.aborted) {
          const last = closed;
          if (follow) {
            next = createWake(); // before reading, so that later events wake the follower
            if (last) end = await database.readableTo(until);
          }
          const from = seen;
          const { rows: page, lagMs: pauseMs } =
            follow && !last
              ? await database.readKnown((to) => pageAfter(from, to), { lagMs, until })
              : { rows: await database.read(() => pageAfter(from, end), until && { until }), lagMs: 0 };
          lagMs = pauseMs;
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
          if (lagMs > 0) setTimeout(next.resolve, lagMs).unref();
          if (!closed) await next.untilResolved(signal);
        }
      } catch (error) {
        // A closed store does not wait for a server that cannot be reached.
        if (signal?.aborted !== true && error !== closing.signal.reason) throw error;
      } finally {
        stop?.unlink();
        leave?.();
        release();
      }
    },
  };
}

/** Reads some events after an id, up to another one or as far as nothing is missing. */
type PageReader = (after: number, to?: number) => Work<readonly (ReadableRow & { readonly body: string | null })[]>;

/**
 * A call has one thread and few events, so its id alone selects them. Signals have an index. Events of other types come
 * without a body: a follower of rare types advances past these events, and does not read them again.
 */
function pageReader(
  { readable, indexed }: Dialect,
  thread: ThreadId | undefined,
  { call, messages = false, types }: Choice,
): PageReader {
  const key = call ?? (messages && thread !== undefined ? threadKey(thread) : undefined);
  const values: Value[] = [];
  const where = (condition: string, ...of: readonly string[]) => {
    values.push(...of);
    return ` AND ${condition}`;
  };
  const isOfType = `type IN (${(types ?? []).map((type) => `'${type}'`).join()})`;
  const areSignals = key === undefined && thread === undefined && types?.every((type) => SIGNALS.includes(type));
  const chosen =
    (key === undefined ? "" : where("call = ?", keyOf(key))) +
    (key === undefined && thread !== undefined ? where("thread = ?", keyOf(thread)) : "") +
    (areSignals === true ? ` AND ${IS_SIGNAL} AND ${isOfType}` : "");
  const body = types === undefined || areSignals === true ? "body" : `CASE WHEN ${isOfType} THEN body END`;
  const from = `events${areSignals === true ? ` ${indexed("events_signals")}` : ""}`;
  const sql = (condition: string) =>
    `SELECT id, ${body} AS body, ${readable} AS readable FROM ${from}
     WHERE id > ?${condition}${chosen} ORDER BY id LIMIT ${PAGE_ROWS}`;
  return (after, to) =>
    to === undefined ? all(sql(""), [after, ...values]) : all(sql(" AND id <= ?"), [after, to, ...values]);
}

/** The position after which every event is new. */
export async function newestId(database: Sql): Promise<number> {
  return Math.min(await database.readableTo(), await database.newest());
}

function storedEvent(id: number, body: string): StoredEvent {
  return Object.assign(eventOf(body), { id });
}
