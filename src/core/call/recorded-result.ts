import type { CallEvent, Store } from "../contract/activity.ts";
import { text } from "../contract/content.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import type { ParkedState } from "../contract/parked.ts";
import type { ToolResult } from "../contract/result.ts";
import { messageOf } from "../util/errors.ts";
import { asText } from "./result.ts";

/** The recorded result of a call that has ended; "failed" if no result was recorded. Never rejects. */
export async function recordedResult(store: Store, call: CallId): Promise<ToolResult> {
  try {
    for await (const event of store.events({ call, types: ["call.finished"] })) {
      if (event.type === "call.finished") return resultOf(event);
    }
    return notHere(`there is no parked call ${call}`);
  } catch (error) {
    return notHere(messageOf(error));
  }
}

/** The result in the event of a call's end. */
export function resultOf(event: Extract<CallEvent, { type: "call.finished" }>): ToolResult {
  const { status, error = "", data = null } = event;
  if (event.result !== undefined) return event.result;
  const parts = (event.content ?? []).map((part) => (part.type === "text" ? part.text : `[${part.mimeType}]`));
  const content = parts.map(text);
  const all = parts.join("\n");
  if (status === "ok") return { status, content, data };
  if (status === "denied") return { status, reason: all || error, by: "person" };
  if (status === "aborted") return { status, content };
  return { status: "failed", message: all.replace(/^Tool error: /, "") || error };
}

/** The state of this thread's parked call, as the model reads it; `undefined` for a call that was not parked. */
export async function parkedState(
  store: Store,
  call: CallId,
  thread: ThreadId,
): Promise<{ readonly state: ParkedState; readonly text: string } | undefined> {
  const [row] = await store.parked({ call, thread });
  if (row !== undefined && row.state !== "ended") return { state: row.state, text: WHERE[row.state] };
  for await (const event of store.events({ call, types: ["call.parked"] })) {
    if (event.type !== "call.parked" || event.thread !== thread) continue;
    return { state: "ended", text: asText(await recordedResult(store, call)) };
  }
  return undefined;
}

/** The words for each state of a parked call that has not ended, as the model reads them. */
export const WHERE = {
  parked: "It waits for a person's approval and has not run.",
  ready: "It was approved, and waits for a process that makes it: `handrail serve` or `handrail mcp` in its folder.",
  taken: "It was approved, and is running.",
} as const;

/** The failure for a call that this toolkit does not make. */
export function notHere(message: string): ToolResult {
  return { status: "failed", message, hint: "Nothing was run here." };
}
