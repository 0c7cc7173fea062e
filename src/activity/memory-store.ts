import type { ActivityEvent, FeedOptions, Store, StoredEvent } from "../contract/activity.ts";

export interface MemoryStoreOptions {
  /** How many events are kept; the oldest go first. Default 10,000. */
  readonly limit?: number;
}

/** A store that lives as long as the process. `commit` is as good as `append`: there is nothing more durable here. */
export function memoryStore({ limit = 10_000 }: MemoryStoreOptions = {}): Store {
  let kept: StoredEvent[] = [];
  let lastId = 0;
  let closed = false;
  let wake = deferred();

  const append = (event: ActivityEvent) => {
    if (closed) throw new Error("the store is closed");
    kept.push({ ...event, id: ++lastId });
    if (kept.length >= 2 * limit) kept = kept.slice(-limit); // rarely, so that an append stays cheap
    wake.resolve();
  };

  return {
    append,
    async commit(event) {
      append(event);
    },
    async *events({ after = 0, thread, call, follow = false, signal }: FeedOptions = {}) {
      let seen = after;
      while (!signal?.aborted) {
        for (const event of kept.slice(firstAfter(kept, seen))) {
          seen = event.id;
          if (thread !== undefined && event.thread !== thread) continue;
          if (call !== undefined && event.call !== call) continue;
          yield event;
          if (signal?.aborted) return;
        }
        if (!follow || closed) return;
        if (lastId > seen) continue;
        if (wake.done()) wake = deferred();
        await wake.untilResolved(signal);
      }
    },
    async close() {
      closed = true;
      wake.resolve();
    },
  };
}

/** Ids count up without gaps inside `kept`, so the place is arithmetic. */
function firstAfter(kept: readonly StoredEvent[], id: number): number {
  const first = kept[0];
  return first === undefined ? 0 : Math.max(0, id - first.id + 1);
}

interface Deferred {
  resolve(): void;
  done(): boolean;
  untilResolved(signal: AbortSignal | undefined): Promise<void>;
}

function deferred(): Deferred {
  let settle = () => {};
  let resolved = false;
  const promise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return {
    resolve() {
      resolved = true;
      settle();
    },
    done: () => resolved,
    untilResolved(signal) {
      if (signal === undefined) return promise;
      return new Promise((resolve) => {
        const stop = () => resolve();
        signal.addEventListener("abort", stop, { once: true });
        void promise.then(() => {
          signal.removeEventListener("abort", stop);
          resolve();
        });
      });
    },
  };
}
