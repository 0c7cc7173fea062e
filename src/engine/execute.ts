import type { ApprovedCall, ToolCall } from "../contract/call.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Json } from "../contract/schema.ts";
import type { ToolContext } from "../contract/tool.ts";
import { pause } from "../util/abort.ts";
import { approve } from "./approve.ts";
import { type Confined, confine } from "./confine.ts";
import type { Host } from "./host.ts";
import { parse } from "./parse.ts";
import type { Recorder } from "./record.ts";

/** How long a stopped tool may take to end by itself (a command gets two seconds of that between TERM and KILL). */
const STOP_GRACE_MS = 3_000;

/**
 * Runs an approved call on a backend confined to what it was approved for. An act's row is durable before it runs. When the
 * signal fires the tool has a grace to return what it has; after that the call ends without it, and whatever it still tries to
 * touch is refused.
 */
export async function execute(
  call: ApprovedCall,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
  nested: (request: ToolCall) => Promise<ToolResult>,
): Promise<Json> {
  signal.throwIfAborted();
  await record.approved(call);
  signal.throwIfAborted();
  const confined = confine(host.backend, host.outputs, call, signal);
  const run = async () => call.tool.run(call.input, contextOf(call, host, record, signal, confined, nested));
  try {
    return await withGrace(run(), signal);
  } finally {
    await confined.end();
  }
}

function contextOf(
  call: ApprovedCall,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
  confined: Confined,
  nested: (request: ToolCall) => Promise<ToolResult>,
): ToolContext {
  const { id, thread } = call.request;
  return {
    callId: id,
    thread,
    backend: confined.backend,
    signal,
    outputs: confined.outputs,
    async permit(effect) {
      if (!call.tool.touches.includes(effect.kind)) {
        throw new ToolFailure(`tool "${call.tool.name}" asks for an effect of kind "${effect.kind}" that its \`touches\` does not name`);
      }
      const more = await approve({ ...call, effects: [effect] }, host, record, signal);
      await record.approved(more);
      for (const approved of more.effects) confined.allow(approved);
    },
    call: (name, input) => nested(parse({ name, input, thread }, id)),
    report: (update) => record.updated(update),
  };
}

function withGrace<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => {
      void pause(STOP_GRACE_MS).then(() => reject(signal.reason as Error));
    };
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
