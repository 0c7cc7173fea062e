import type { ToolCall } from "../contract/call.ts";
import type { Store } from "../contract/activity.ts";
import { text } from "../contract/content.ts";
import type { CallId } from "../contract/identity.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Stop } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { callTool } from "./call.ts";
import type { Host } from "./host.ts";
import { targetOf } from "./park.ts";
import { findTool } from "./toolset.ts";

/** Claims a parked call, and makes it if the claim succeeds. Never rejects. */
export async function claimAndCall(
  request: ToolCall,
  { call, name }: ParkedCall,
  host: Host,
  stop: Stop,
): Promise<ToolResult> {
  if (findTool(host.tools, name) === undefined) return notHere(`this toolkit has no tool "${name}"`);
  const move = { to: "taken", claim: randomName(16), target: targetOf(host.backend) } as const;
  const claim = () => host.store.move(call, move);
  try {
    // When the reply of a commit was lost, the same claim tells whether it is ours.
    const outcome = await claim().catch(claim);
    if (outcome.status === "moved") return await callTool(request, host, stop, outcome.parked);
    const { parked, reason } = outcome;
    if (parked?.state === "parked") return waiting(parked);
    if (parked === undefined || parked.state === "ended") return await recordedResult(host.store, call);
    return notHere(reason);
  } catch (error) {
    return notHere(messageOf(error));
  }
}

/** The result of a call that has ended, as far as it is recorded; "failed" if there is none. Never rejects. */
export async function recordedResult(store: Store, call: CallId): Promise<ToolResult> {
  try {
    for await (const event of store.events({ call, types: ["call.finished"] })) {
      if (event.type !== "call.finished") continue;
      const { status, error = "", data = null } = event;
      const content = (event.content ?? []).map((part) => (part.type === "text" ? part : text(`[${part.mimeType}]`)));
      const all = content.map((part) => ("text" in part ? part.text : "")).join("\n");
      if (status === "ok") return { status, content, data };
      if (status === "denied") return { status, reason: all || error, by: "person" };
      if (status === "aborted") return { status, content };
      return { status: "failed", message: all.replace(/^Tool error: /, "") || error };
    }
    return notHere(`there is no parked call ${call}`);
  } catch (error) {
    return notHere(messageOf(error));
  }
}

function waiting({ call, changed }: ParkedCall): ToolResult {
  return { status: "parked", call, ...(changed !== undefined && { changed }) };
}

function notHere(message: string): ToolResult {
  return { status: "failed", message, hint: "Nothing was run here." };
}
