import type { CallEvent, Store } from "../core/contract/activity.ts";
import type { CallId, ThreadId } from "../core/contract/identity.ts";
import { pause } from "../core/util/abort.ts";

/** How many threads are followed after their last call. */
const MOST_IDLE = 8;

/** The pause before a thread is read again after a failure. Milliseconds. */
const RETRY_MS = 1_000;

/** Passes on the events of calls that are made elsewhere. Follows each thread once, however many calls it has. */
export interface Inbox {
  /**
   * Passes each event of a call of the thread, from its start on, to the listener, until the returned function is
   * called. The call must have been recorded as started.
   */
  listen(thread: ThreadId, call: CallId, heard: (event: CallEvent) => void): () => void;
  close(): void;
}

interface Followed {
  readonly listeners: Map<CallId, (event: CallEvent) => void>;
  readonly closing: AbortController;
}

export function createInbox(store: Pick<Store, "events">): Inbox {
  const threads = new Map<ThreadId, Followed>();

  const follow = async (thread: ThreadId, first: CallId, { listeners, closing: { signal } }: Followed) => {
    let after: number | undefined;
    while (!signal.aborted) {
      try {
        after ??= await beforeStart(first);
        for await (const event of store.events({ thread, follow: true, after, signal })) {
          after = event.id;
          if (event.call !== undefined) listeners.get(event.call)?.(event);
        }
        return; // the store was closed
      } catch {
        await pause(RETRY_MS, signal, { keepsAlive: false });
      }
    }
  };

  /** The position before the call's first event. */
  const beforeStart = async (call: CallId): Promise<number> => {
    for await (const { id } of store.events({ call })) return id - 1;
    return 0;
  };

  const forgetIdle = () => {
    const idle = [...threads].filter(([, { listeners }]) => listeners.size === 0);
    for (const [thread, { closing }] of idle.slice(0, -MOST_IDLE)) {
      threads.delete(thread);
      closing.abort();
    }
  };

  return {
    listen(thread, call, heard) {
      let followed = threads.get(thread);
      if (followed === undefined) {
        followed = { listeners: new Map(), closing: new AbortController() };
        threads.set(thread, followed);
        void follow(thread, call, followed);
      }
      const { listeners } = followed;
      listeners.set(call, heard);
      return () => {
        listeners.delete(call);
        forgetIdle();
      };
    },
    close() {
      for (const { closing } of threads.values()) closing.abort();
    },
  };
}
