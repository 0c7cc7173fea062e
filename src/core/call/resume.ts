import type { ToolCall } from "../contract/call.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { ToolResult } from "../contract/result.ts";
import { type Stop, pause } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { randomName } from "../util/identifier.ts";
import { callTool } from "./call.ts";
import type { Host } from "./host.ts";
import { targetOf } from "./park.ts";
import { notHere, recordedResult } from "./recorded-result.ts";
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
  try {
    const outcome = await surely(() => host.store.move(call, move), stop.signal);
    if (outcome.status === "moved") return await callTool(request, host, stop, outcome.parked);
    const { parked, reason } = outcome;
    if (parked?.state === "parked") return waiting(parked);
    if (parked === undefined || parked.state === "ended") return await recordedResult(host.store, call);
    return notHere(reason);
  } catch (error) {
    return notHere(messageOf(error));
  }
}

/** The pauses before a claim is repeated whose reply was lost, in milliseconds. */
const REPEATS_MS = [0, 100, 1_000, 5_000];

/** Repeats a claim that may have succeeded, until the store tells whose claim it is. Rejects with its last error. */
async function surely<T>(claim: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (const ms of REPEATS_MS) {
    try {
      return await claim();
    } catch {
      await pause(ms, signal);
    }
  }
  return await claim();
}

function waiting({ call, changed }: ParkedCall): ToolResult {
  return { status: "parked", call, ...(changed !== undefined && { changed }) };
}
