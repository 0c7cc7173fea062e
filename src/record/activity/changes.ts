import type { ActivityChange } from "../../core/contract/activity.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { CallId } from "../../core/contract/identity.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { clip } from "../../core/util/text.ts";
import { MAX_ERROR, type ToolActivity, statusAtEnd } from "./fold.ts";

/** The fields of an activity that can be changed from outside the call. Id, name and input cannot. */
export const FIELDS = ["display_message", "error"] as const;
type Field = (typeof FIELDS)[number];

/**
 * Changes fields of a call's activity. The error can be changed after the call has ended, the display message only
 * while the call runs. Secrets are masked. The status follows from how the call ends: one that agrees with it is taken,
 * and while the call runs any of the three.
 *
 * @throws TypeError for a field or a status that cannot be set; ToolFailure for an unknown call, for the display
 * message of a call that has ended, and for another status than it ended with; Error when the change cannot be
 * recorded.
 */
export async function updateToolActivity(
  toolkit: Pick<Toolkit, "store" | "mask">,
  call: CallId,
  { status, ...fields }: { readonly [field in Field]?: string } & Partial<Pick<ToolActivity, "status">>,
): Promise<void> {
  requireFields(Object.keys(fields));
  if (status !== undefined) await requireStatus(toolkit.store, call, status);
  if (status === undefined || Object.keys(fields).length > 0) await changeActivity(toolkit, call, fields);
}

/**
 * Merges data into a call's activity, also after the call has ended. Secrets are masked. Rejects like
 * `updateToolActivity`.
 */
export async function updateToolActivityData(
  toolkit: Pick<Toolkit, "store" | "mask">,
  call: CallId,
  data: { readonly [key: string]: Json },
): Promise<void> {
  await changeActivity(toolkit, call, { data });
}

/** Deletes fields of a call's activity, also after the call has ended. Rejects like `updateToolActivity`. */
export async function deleteToolActivityFields(
  toolkit: Pick<Toolkit, "store" | "mask">,
  call: CallId,
  fields: readonly Field[],
): Promise<void> {
  requireFields(fields);
  await changeActivity(toolkit, call, { deleted: fields });
}

function requireFields(names: readonly string[]): void {
  const wrong = names.find((name) => !FIELDS.some((field) => field === name));
  if (wrong === undefined) return;
  throw new TypeError(
    `expected ${FIELDS.join(" or ")}, got ${wrong}: other fields of a tool activity cannot be changed`,
  );
}

/** Changes a call's activity, as one event. An error is cut after 200 characters. Rejects like `updateToolActivity`. */
export async function changeActivity(
  { store, mask }: Pick<Toolkit, "store" | "mask">,
  call: CallId,
  { error, ...rest }: ActivityChange,
): Promise<void> {
  const change = { ...rest, ...(error !== undefined && { error: clip(error, MAX_ERROR) }) };
  for await (const { thread } of store.events({ call, types: ["call.started"] })) {
    if (change.display_message !== undefined) await requireRunning(store, call);
    return store.commit({ type: "activity.updated", call, thread, at: Date.now(), change: mask(change) });
  }
  throw new ToolFailure(`there is no call ${call} in this store`);
}

async function requireStatus(store: Toolkit["store"], call: CallId, status: ToolActivity["status"]): Promise<void> {
  const known = ["in_progress", "success", "failure"];
  if (!known.includes(status)) throw new TypeError(`expected a status (${known.join(", ")}), got ${status}`);
  let isKnown = false;
  for await (const event of store.events({ call, types: ["call.started", "call.finished"] })) {
    isKnown = true;
    if (event.type !== "call.finished") continue;
    const ended = statusAtEnd(event);
    if (status !== ended) throw new ToolFailure(`call ${call} has ended with ${ended}, so its status is not ${status}`);
  }
  if (!isKnown) throw new ToolFailure(`there is no call ${call} in this store`);
}

async function requireRunning(store: Toolkit["store"], call: CallId): Promise<void> {
  for await (const _ of store.events({ call, types: ["call.finished"] })) {
    throw new ToolFailure(`call ${call} has ended, and a display_message is shown only while a call runs`, {
      hint: "Set its error, or its data with updateToolActivityData.",
    });
  }
}
