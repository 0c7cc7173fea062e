import type { ActivityEvent, ThreadEvent, ThreadSummary } from "../contract/activity.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { Database } from "../db/database.ts";

type Created = Extract<ThreadEvent, { type: "thread.created" }>;

/** True for an event of a thread itself, which belongs to no call. */
function isThreadEvent(event: ActivityEvent): event is ThreadEvent {
  return event.type === "thread.created" || event.type === "message.added";
}

/** True for an event of this call (of any, where none is named); with `messages` only for one of a thread itself. */
export function isAskedFor(event: ActivityEvent, call: CallId | undefined, messages: boolean): boolean {
  if (isThreadEvent(event)) return call === undefined;
  return !messages && (call === undefined || event.call === call);
}

/** The threads created among these events, the one with the newest event last. */
export function summarize(events: readonly ActivityEvent[]): readonly ThreadSummary[] {
  const changed = new Map<ThreadId, { readonly index: number; readonly at: number }>();
  for (const [index, { thread, at }] of events.entries()) changed.set(thread, { index, at });
  return events
    .filter((event): event is Created => event.type === "thread.created")
    .map((event) => ({ event, newest: changed.get(event.thread) ?? { index: 0, at: event.at } }))
    .toSorted((one, other) => one.newest.index - other.newest.index)
    .map(({ event, newest }) => summaryOf(event, newest.at));
}

/** The same out of a database: one look for the threads, and one into an index for each. */
export function threadsIn({ connection }: Database): readonly ThreadSummary[] {
  return connection
    .all<{ body: string; at: number }>(
      `SELECT created.body AS body, newest.at AS at
       FROM events AS created
       JOIN events AS newest ON newest.id = (SELECT max(id) FROM events WHERE thread = created.thread)
       WHERE created.type = 'thread.created'
       ORDER BY newest.id`,
    )
    .map(({ body, at }) => summaryOf(JSON.parse(body) as Created, at));
}

function summaryOf({ thread, target, workDir, parent, at }: Created, changedMs: number): ThreadSummary {
  return { thread, target, workDir, ...(parent !== undefined && { parent }), createdMs: at, changedMs };
}
