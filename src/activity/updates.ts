import type { ActivityEvent, CallUpdate } from "../contract/activity.ts";
import type { CallId } from "../contract/identity.ts";
import { formatSize } from "../output/size.ts";
import { clip } from "../util/text.ts";
import type { EventRow } from "./event-rows.ts";

type UpdateEvent = Extract<ActivityEvent, { type: "call.updated" }>;

/** Live output beyond this begins a new row, in characters of JSON. */
const MERGED_LENGTH = 65_536;

/**
 * Updates of one call that follow each other become one: the last display message, the data merged, the outputs in a row. The state of
 * the call (fold.ts) is the same, and a flood of them does not fill the database. Other events keep their place and order.
 *
 * @param mayMerge whether the row at this place may be merged with the one before
 */
export function mergeUpdates(rows: readonly EventRow[], mayMerge: (index: number) => boolean): EventRow[] {
  const groups: EventRow[][] = [];
  const open = new Map<string, { readonly group: EventRow[]; readonly thread: string; length: number }>();
  for (const [index, row] of rows.entries()) {
    const last = open.get(row.call);
    const merges = row.type === "call.updated" && mayMerge(index);
    if (merges && last?.thread === row.thread && last.length + row.body.length <= MERGED_LENGTH) {
      last.group.push(row);
      last.length += row.body.length;
      continue;
    }
    const group = [row];
    groups.push(group);
    if (merges) open.set(row.call, { group, thread: row.thread, length: row.body.length });
    else open.delete(row.call);
  }
  return groups.map(merged);
}

function merged(group: readonly EventRow[]): EventRow {
  const [first] = group;
  if (first !== undefined && group.length === 1) return first;
  const events = group.map(({ body }) => JSON.parse(body) as UpdateEvent);
  const last = events.at(-1);
  if (first === undefined || last === undefined) throw new Error("nothing to merge");
  const update = events.map((event) => event.update).reduce(mergedUpdate);
  return { ...first, at: last.at, body: JSON.stringify({ ...last, update } satisfies UpdateEvent) };
}

function mergedUpdate(one: CallUpdate, next: CallUpdate): CallUpdate {
  const output = (one.output ?? "") + (next.output ?? "");
  return {
    ...one,
    ...next,
    ...(one.data && next.data && { data: { ...one.data, ...next.data } }),
    ...(output && { output }),
  };
}

/** Keeps the live output of a call under a limit. What a command wrote is in its saved output; this is what people saw meanwhile. */
export interface LiveOutputLimit {
  /** The event with what is still to be recorded of it; `undefined` when that is nothing. */
  within(event: ActivityEvent): ActivityEvent | undefined;
}

/** @param characters of live output that are recorded of one call */
export function createLiveOutputLimit(characters: number): LiveOutputLimit {
  const written = new Map<CallId, number>();
  return {
    within(event) {
      if (event.type === "call.finished") written.delete(event.call);
      if (event.type !== "call.updated" || event.update.output === undefined) return event;
      const before = written.get(event.call) ?? 0;
      const { output, ...update } = event.update;
      written.set(event.call, before + output.length);
      if (before + output.length <= characters) return event;
      if (before > characters) return Object.keys(update).length === 0 ? undefined : { ...event, update };
      const notice = `\n[more live output of this call is not recorded: it is over ${formatSize(characters)}]\n`;
      return { ...event, update: { ...update, output: clip(output, characters - before + 1) + notice } };
    },
  };
}
