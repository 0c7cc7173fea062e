import type { ActivityEvent, CallUpdate } from "../../core/contract/activity.ts";
import type { CallId } from "../../core/contract/identity.ts";
import { formatSize } from "../../core/output/size.ts";
import { clip } from "../../core/util/text.ts";
import type { EventRow } from "./event-rows.ts";

type UpdateEvent = Extract<ActivityEvent, { type: "call.updated" }>;

/** The most live output in one row, in characters of JSON. */
const MERGED_LENGTH = 65_536;

/**
 * Merges consecutive updates of one call: the last display message, the merged data, and the joined outputs. The folded
 * state of the call (fold.ts) stays the same, with fewer rows. Other events keep their order.
 *
 * @param mayMerge Whether the row at this index may be merged with the one before.
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

/** Limits the recorded live output of a call. The complete output is in its saved output. */
export interface LiveOutputLimit {
  /** The event with the part that is recorded; `undefined` when nothing is. */
  within(event: ActivityEvent): ActivityEvent | undefined;
}

/** @param characters How much live output is recorded per call. */
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
