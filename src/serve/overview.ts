import type { Store, ThreadTail } from "../core/contract/activity.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import { messageOf } from "../core/util/errors.ts";
import { type ThreadState, STATE_EVENTS, foldThread } from "./thread-state.ts";

/** The state of all threads, kept up to date. */
export interface Overview {
  /** Returns the threads and the newest event included in them. Following the events after it misses none. */
  read(): Promise<{ readonly threads: readonly ThreadState[]; readonly last: number }>;
}

/**
 * Reads the ends of all threads, or of a store without `tails` all events, and then follows the events, so that
 * requests are answered at once.
 *
 * @param signal stops following
 */
export function createOverview(store: Pick<Store, "events" | "tails">, signal: AbortSignal): Overview {
  const threads = new Map<ThreadId, ThreadState>();
  let last = 0;

  const take = async (follow: boolean) => {
    for await (const event of store.events({ after: last, types: STATE_EVENTS, follow, signal })) {
      threads.set(event.thread, foldThread(threads.get(event.thread), event));
      last = event.id;
    }
  };
  const ready = (async () => {
    if (store.tails === undefined) return await take(false);
    const begun = await store.tails();
    for (const tail of begun.tails) if (tail.events.length > 0) threads.set(tail.summary.thread, stateOf(tail));
    last = begun.last;
  })();
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

/** The state of a thread at its tail. */
function stateOf({ summary, calls, events }: ThreadTail): ThreadState {
  const { startedWith: _, fork: __, ...known } = summary;
  const inTail = events.filter(({ type }) => type === "call.started").length;
  const before: ThreadState = { ...known, calls: calls - inTail, recent: [], awaitsModel: false };
  return events.reduce<ThreadState>(foldThread, before);
}
