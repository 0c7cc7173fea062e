import type { CheckedCall } from "../contract/call.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import { defineTool } from "../contract/tool.ts";
import type { CallRequest, DerivedOptions, Toolkit } from "../contract/toolkit.ts";
import { createSeenFiles } from "../files/seen.ts";
import { linkedTo } from "../util/abort.ts";
import { callTool } from "./call.ts";
import { decide } from "./decide.ts";
import type { Host } from "./host.ts";
import { parse } from "./parse.ts";
import { requireValidSchemas } from "./schema-fault.ts";
import { definitions, toolset } from "./toolset.ts";

/** What a toolkit and those derived from it share. */
export type Shared = Omit<Host, keyof Own | "onEvent">;

/** What each of them has of its own. */
export interface Own extends Pick<Host, "tools" | "approver" | "seen"> {
  readonly thread: ThreadId;
  readonly parent?: CallId;
}

/** The calls of one toolkit, those of toolkits derived from it included. */
interface Calls {
  /** Why, once they are closed. */
  closed: Error | undefined;
  /** Each with what stops it. */
  readonly running: Map<Promise<unknown>, (reason: Error) => void>;
}

/**
 * Opens a toolkit over a host. `end` closes what is shared; it gets a promise that resolves when every call has ended. A toolkit that is derived
 * (`with`) closes only its own calls.
 */
export function openToolkit(shared: Shared, own: Own, end: (callsEnded: Promise<unknown>) => Promise<void>): Toolkit {
  return toolkitOf(shared, own, end, []);
}

function toolkitOf(
  shared: Shared,
  own: Own,
  end: (callsEnded: Promise<unknown>) => Promise<unknown>,
  above: readonly Calls[],
): Toolkit {
  const { tools, approver: ownApprover, seen } = own;
  const { backend, policies, store, jobs, memories, outputs, mask } = shared;
  const calls: Calls = { closed: undefined, running: new Map() };
  const all = [...above, calls];

  return {
    tools,
    backend,
    store,
    jobs,
    memories,
    outputs,
    mask: mask.json,
    definitions: (format) => definitions(tools, format),
    hear: (words, thread = own.thread) => shared.knownHosts.addFrom(thread, words),
    judge: async (effects) => (await decide({ ...NO_CALL, effects }, { policies, backend })).decision,
    async call(given, { signal, approver = ownApprover, howToApprove = shared.howToApprove, onEvent } = {}) {
      if (all.some(({ closed }) => closed !== undefined)) return { status: "failed", message: "the toolkit is closed" };
      const linked = linkedTo(signal === undefined ? [] : [signal]);
      const host: Host = { ...shared, tools, approver, howToApprove, seen, onEvent };
      const request = parse({ ...given, ...placed(given, own) });
      const unwatch = shared.watch.call(request, linked.abort);
      const call = callTool(request, host, linked.signal);
      for (const { running } of all) running.set(call, linked.abort);
      try {
        return await call;
      } finally {
        unwatch();
        linked.unlink();
        for (const { running } of all) running.delete(call);
      }
    },
    with: (options) => toolkitOf(shared, derived(own, options), (callsEnded) => callsEnded, all),
    async close() {
      if (calls.closed !== undefined) return;
      const reason = new Error("the toolkit was closed");
      calls.closed = reason;
      for (const stop of calls.running.values()) stop(reason);
      await end(Promise.all(calls.running.keys()));
    },
  };
}

/** The thread and the parent of a call: its own, or those of the toolkit it is made with. */
function placed(
  { thread, parent }: Pick<CallRequest, "thread" | "parent">,
  own: Pick<Own, "thread" | "parent">,
): Pick<Own, "thread" | "parent"> {
  const above = parent ?? own.parent;
  return { thread: thread ?? own.thread, ...(above !== undefined && { parent: above }) };
}

function derived(own: Own, { tools, approver = own.approver, ...place }: DerivedOptions): Own {
  const { thread, ...parent } = placed(place, own);
  const named = tools === undefined ? own.tools : toolset(tools);
  const known = new Set(own.tools.values());
  requireValidSchemas([...named.values()].filter((tool) => !known.has(tool)));
  return { tools: named, approver, thread, ...parent, seen: thread === own.thread ? own.seen : createSeenFiles() };
}

/** For judging effects that no call has: policies are told a call that is nobody's. */
const NO_CALL: Omit<CheckedCall, "effects"> = {
  request: { id: "", name: "", input: {}, thread: "main" },
  tool: defineTool({ name: "none", description: "", input: {}, run: async () => null }),
  input: {},
};
