import type { ActivityEvent, FeedOptions, Store } from "../contract/activity.ts";
import { isAskedFor, summarize } from "./threads.ts";
import { type Wake, createWake } from "./wake.ts";

export interface MemoryStoreOptions {
  /**
   * How many events are kept; the oldest go first. Default 1,000, some 400 calls. More cost every call: what outlives the young
   * generation of the heap is copied (10,000 made a call three times as slow).
   */
  readonly limit?: number;
}

/**
 * A store that lives as long as the process. `commit` is as good as `append`: there is nothing more durable here.
 *
 * @throws RangeError for a `limit` that is not a whole number above 0.
 */
export function memoryStore({ limit = 1_000 }: MemoryStoreOptions = {}): Store {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`limit ${limit}: expected a whole number above 0`);
  const ring: (ActivityEvent | undefined)[] = Array.from({ length: limit });
  let lastId = 0;
  let closed = false;
  let wake: Wake | undefined;

  const append = (event: ActivityEvent) => {
    if (closed) throw new Error("the store is closed");
    ring[lastId++ % limit] = event; // an event's id is its place + 1
    wake?.resolve();
    wake = undefined;
  };

  return {
    append,
    async commit(event) {
      append(event);
    },
    async *events({ after = 0, thread, call, messages = false, follow = false, signal }: FeedOptions = {}) {
      let seen = after;
      while (!signal?.aborted) {
        while (seen < lastId) {
          seen = Math.max(seen, lastId - limit) + 1;
          const event = ring[(seen - 1) % limit];
          if (event === undefined) continue;
          if (thread !== undefined && event.thread !== thread) continue;
          if (!isAskedFor(event, call, messages)) continue;
          yield { ...event, id: seen };
          if (signal?.aborted) return;
        }
        if (!follow || closed) return;
        wake ??= createWake();
        await wake.untilResolved(signal);
      }
    },
    async threads() {
      const kept = Array.from({ length: Math.min(lastId, limit) }, (_, index) => ring[(lastId - 1 - index) % limit]);
      return summarize(kept.flatMap((event) => (event === undefined ? [] : [event])).toReversed());
    },
    async close() {
      closed = true;
      wake?.resolve();
    },
  };
}
