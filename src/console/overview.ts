import type { Store } from "../contract/activity.ts";
import type { ThreadId } from "../contract/identity.ts";
import { messageOf } from "../util/errors.ts";
import { type ThreadState, STATE_EVENTS, foldThread } from "./thread-state.ts";

/** The state of all threads, kept up to date. */
export interface Overview {
  /** Returns the threads and the newest event included in them. Following the events after it misses none. */
  read(): Promise<{ readonly threads: readonly ThreadState[]; readonly last: number }>;
}

/**
 * Reads all events once and then follows them, so that requests are answered at once.
 *
 * @param signal stops following
 */
export function createOverview(store: Pick<Store, "events">, signal: AbortSignal): Overview {
  const threads = new Map<ThreadId, ThreadState>();
  let last = 0;

  const take = async (follow: boolean) => {
    for await (const event of store.events({ after: last, types: STATE_EVENTS, follow, signal })) {
      threads.set(event.thread, foldThread(threads.get(event.thread), event));
      last = event.id;
    }
  };
  const ready = take(false);
  // A failure is thrown by the next `read`.
  let failure: Error | undefined;
  ready.then(() => take(true)).catch((error: unknown) => (failure = new Error(messageOf(error), { cause: error })));

  return {
    async read() {
      await ready;
      if (failure !== undefined && !signal.aborted) throw failure;
      return { threads: [...threads.values()], last };
    },
  };
}
