import type { StoredEvent } from "../core/contract/activity.ts";

/**
 * An event as the API sends it: without the address of an opened port, which lets in whoever has it. Only the answer to
 * the request for it has it, and that needs the scope `prompt`.
 */
export function shownEvent(event: StoredEvent): StoredEvent {
  if (event.type !== "port.opened" || event.url === undefined) return event;
  const { url: _, ...rest } = event;
  return rest;
}
