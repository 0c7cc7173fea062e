import type { StoredEvent } from "../../src/core/contract/activity.ts";
import { eventListeners } from "./model.ts";

/** How a call ended. */
type Ended = Extract<StoredEvent, { type: "call.finished" }>;

/**
 * Sends the request that makes a call, and follows the call to its end. Rejects if the request fails.
 *
 * @param onAsked called when a person is asked about the call
 */
export async function follow(
  request: () => Promise<{ readonly call: string }>,
  onAsked: () => void = () => undefined,
): Promise<Ended> {
  const ends = new Map<string, Ended>();
  const asked = new Set<string>();
  let call: string | undefined;
  let resolve: (end: Ended) => void = () => undefined;
  const ended = new Promise<Ended>((fulfil) => (resolve = fulfil));
  // Events of the call may arrive before the response that names it.
  const tell = () => {
    if (call === undefined) return;
    if (asked.delete(call)) onAsked();
    const end = ends.get(call);
    if (end !== undefined) resolve(end);
  };
  const take = (events: readonly StoredEvent[]) => {
    for (const event of events) {
      if (event.type === "call.finished") ends.set(event.call, event);
      if (event.type === "approval.requested") asked.add(event.call);
    }
    tell();
  };
  eventListeners.add(take);
  try {
    ({ call } = await request());
    tell();
    return await ended;
  } finally {
    eventListeners.delete(take);
  }
}
