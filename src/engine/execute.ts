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
  let confined: Confined | undefined;
  let over = false;
  const confinement = () => {
    confined ??= confine(host.backend, host.outputs, call, signal);
    if (over) void confined.end(); // a tool that looks at its context for the first time after its call
    return confined;
  };
  const run = async () => call.tool.run(call.input, contextOf(call, host, record, signal, confinement, nested));
  try {
    return await withGrace(run(), signal);
  } finally {
    over = true;
    await confined?.end();
  }
}

/** What the tool is given. Most of it is made when it is first asked for: many tools need none of it. */
function contextOf(
  call: ApprovedCall,
  host: Host,
  record: Recorder,
  signal: AbortSignal,
  confinement: () => Confined,
  nested: (request: ToolCall) => Promise<ToolResult>,
): ToolContext {
  const { id, thread } = call.request;
  return {
    callId: id,
    thread,
    signal,
    get backend() {
      return confinement().backend;
    },
    get outputs() {
      return confinement().outputs;
    },
    async permit(effect) {
      if (!call.tool.touches.includes(effect.kind)) {
        throw new ToolFailure(`tool "${call.tool.name}" asks for an effect of kind "${effect.kind}" that its \`touches\` does not name`);
      }
      const more = await approve({ ...call, effects: [effect] }, host, record, signal);
      await record.approved(more);
      for (const approved of more.effects) confinement().allow(approved);
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
