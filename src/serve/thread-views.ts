import { type ThreadMessage, type ThreadView, createThreadView } from "../record/activity/messages.ts";
import type { Store } from "../core/contract/activity.ts";
import type { ThreadId } from "../core/contract/identity.ts";

/** How many threads are kept: about as many as people have open. */
const KEPT = 4;

/** The messages of threads. They are read once and then updated, for pages that request one part after another. */
export interface ThreadViews {
  /** Returns all messages, and the thread's newest event included in them. */
  read(thread: ThreadId): Promise<{ readonly messages: readonly ThreadMessage[]; readonly last: number }>;
}

export function createThreadViews(store: Pick<Store, "events">): ThreadViews {
  interface Kept {
    readonly view: ThreadView;
    last: number;
    /** Concurrent readers of the same thread wait for it. */
    reading: Promise<void>;
  }
  const views = new Map<ThreadId, Kept>();

  return {
    async read(thread) {
      const kept = views.get(thread) ?? { view: createThreadView(), last: 0, reading: Promise.resolve() };
      views.delete(thread); // most recently used last
      views.set(thread, kept);
      for (const oldest of [...views.keys()].slice(0, -KEPT)) views.delete(oldest);
      const before = kept.reading;
      kept.reading = (async () => {
        await before.catch(() => undefined);
        for await (const event of store.events({ thread, after: kept.last })) {
          kept.view.add(event);
          kept.last = event.id;
        }
      })();
      await kept.reading;
      return { messages: kept.view.messages, last: kept.last };
    },
  };
}
