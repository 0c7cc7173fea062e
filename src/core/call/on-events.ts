import type { Store, StoredEvent } from "../contract/activity.ts";
import { pause } from "../util/abort.ts";

/** The pause before a store is followed again after a failure, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Calls `happened` when events of these types were recorded before, which it then reads itself, and for each new one,
 * of every process, until the signal fires or the store is closed. Never rejects.
 */
export async function onEvents(
  store: Pick<Store, "events">,
  types: readonly StoredEvent["type"][],
  happened: () => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of store.events({ types, after: "now", follow: true, begun: happened, signal })) happened();
      return;
    } catch {
      await pause(RETRY_MS, signal, { keepsAlive: false });
    }
  }
}
