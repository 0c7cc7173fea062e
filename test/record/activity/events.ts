import type { ActivityEvent, FeedOptions, Store, StoredEvent } from "../../../src/core/contract/activity.ts";

/** The current time, because a store may remove old events. */
const AT = Date.now();

/** An event without content. */
export function event(call: string, thread = "main"): ActivityEvent {
  return { call, thread, at: AT, type: "job.ended", job: "1", exit: { how: "aborted" } };
}

/** Returns all events of a store, or those that the options select. */
export async function all(store: Store, options?: FeedOptions): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const each of store.events(options)) events.push(each);
  return events;
}

export const idsOf = (events: readonly StoredEvent[]) => events.map(({ id }) => id);

/** Follows a store into a list, until it ends. */
export function following(store: Store, options: FeedOptions = {}): { seen: StoredEvent[]; ended: Promise<void> } {
  const seen: StoredEvent[] = [];
  const ended = (async () => {
    for await (const each of store.events({ follow: true, ...options })) seen.push(each);
  })();
  return { seen, ended };
}
