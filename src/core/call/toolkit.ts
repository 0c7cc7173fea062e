import type { CheckedCall, ToolCall } from "../contract/call.ts";
import type { CallId, ThreadId } from "../contract/identity.ts";
import { defineTool } from "../contract/tool.ts";
import type { ToolResult } from "../contract/result.ts";
import type { CallOptions, CallRequest, DerivedOptions, Toolkit, Toolset } from "../contract/toolkit.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { Approver, Policy } from "../contract/policy.ts";
import type { Delivery } from "../contract/delivery.ts";
import { createSeenFiles, seenElsewhere } from "../files/seen.ts";
import { Stop, pause } from "../util/abort.ts";
import { keepingAlive } from "../util/keeping-alive.ts";
import { previewOf } from "./approve.ts";
import { callTool } from "./call.ts";
import { decide } from "./decide.ts";
import type { Grants, Host } from "./host.ts";
import { parse } from "./parse.ts";
import { targetOf } from "./park.ts";
import { recordedResult } from "./recorded-result.ts";
import { toResult } from "./result.ts";
import { claimAndCall } from "./resume.ts";
import { checkSchemasLater } from "./validate.ts";
import type { LiveTools } from "./live-tools.ts";
import { definitions } from "./definitions.ts";
import { toolset } from "./toolset.ts";

/** What a toolkit shares with the toolkits derived from it. */
export type Shared = Omit<Host, keyof Own | "onEvent" | "absent" | "schedules"> & {
  readonly live: LiveTools;
  readonly schedules: Toolkit["schedules"];
  readonly notify: Toolkit["notify"];
  readonly pages: Toolkit["pages"];
  /** Called with a tool that a format of definitions cannot have, and the reason. */
  readonly leftOut: (tool: string, why: string) => void;
  /** The policies of the caller of a call that a worker makes. */
  readonly policiesOf: (delivery: Delivery) => readonly Policy[];
  /** Returns the permanent grants, without those of the session. */
  readonly permanentGrants: () => Grants;
  /** Called with each message of a person to an agent, secrets masked, because acts may follow. */
  readonly beforeTurn?: (words: string, thread: ThreadId) => void;
};

/** What each toolkit has for itself. */
export interface Own extends Pick<Host, "approver" | "seen" | "grants" | "isApproved" | "parkAfterMs"> {
  /** Returns the toolkit's current tools. */
  readonly tools: () => Toolset;
  readonly thread: ThreadId;
  readonly parent?: CallId;
  readonly agent?: string;
}

/** The calls of one toolkit and of toolkits derived from it. */
interface Calls {
  /** Why calls are refused, once the toolkit is closed. */
  closed: Error | undefined;
  /** Each running call and the function that stops it. */
  readonly running: Map<Promise<unknown>, (reason: Error) => void>;
}

/**
 * Creates a toolkit. `end` closes what toolkits share; it gets a promise that resolves when every call has ended.
 * Closing a derived toolkit (`with`) only ends its own calls.
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
  const { tools, seen, approver, grants, isApproved, parkAfterMs } = own;
  const { backend, policies, policiesOf, store, jobs, memories, schedules, outputs, mask, live } = shared;
  const calls: Calls = { closed: undefined, running: new Map() };
  const all = [...above, calls];

  let usual: Host | undefined;
  /**
   * The host of calls without options of their own. Made again when the tools have changed: making it costs a third of
   * a call.
   */
  const usualHost = (): Host => {
    const now = tools();
    if (usual?.tools === now) return usual;
    usual = { ...shared, tools: now, absent: live.absent, approver, seen, grants, isApproved, parkAfterMs };
    return usual;
  };

  /** The host for a call that was delivered: judged by its caller's policies too, with its caller's approver. */
  const deliveredTo = (host: Host, { delivery }: ParkedCall): Host => {
    if (delivery === undefined) return host;
    const asking = delivery.answers === true ? answersElsewhere(host.answerWithinMs) : host.approver;
    const { seen: files, changed } = seenElsewhere(host.seen, delivery.seen);
    const judging = [...policies, ...policiesOf(delivery)];
    const forCaller = { seenForCaller: changed, outputForCaller: delivery.output };
    return { ...host, approver: asking, policies: judging, seen: files, ...forCaller };
  };

  /** Runs a call that can be stopped, and is stopped with the toolkit. */
  const run = async (
    request: ToolCall,
    options: CallOptions,
    work: (host: Host, stop: Stop) => Promise<ToolResult>,
  ): Promise<ToolResult> => {
    if (all.some(({ closed }) => closed !== undefined)) return { status: "failed", message: "the toolkit is closed" };
    const stop = options.signal === undefined ? new Stop() : new Stop(options.signal);
    const abort = (reason: Error) => stop.abort(reason);
    const unwatch = shared.watch.call(request, abort);
    const call = work(hostWith(usualHost(), options), stop);
    for (const { running } of all) running.set(call, abort);
    try {
      return await call;
    } finally {
      unwatch();
      stop.unlink();
      for (const { running } of all) running.delete(call);
    }
  };

  return {
    get tools() {
      return tools();
    },
    get ready() {
      return live.ready;
    },
    get starting() {
      return live.starting;
    },
    onToolsChanged: live.onChange,
    backend,
    store,
    jobs,
    memories,
    schedules,
    notify: shared.notify,
    pages: shared.pages,
    hooks: shared.hooks,
    outputs,
    mask: mask.json,
    definitions: (format, options) => definitions(tools(), format, options, shared.leftOut),
    async preview(given) {
      const stop = new Stop();
      return previewOf(parse(given, own), usualHost(), stop).catch((error: unknown) => ({
        status: "ends",
        result: toResult(error, stop),
      }));
    },
    hear(words, thread = own.thread) {
      shared.conversations.add(thread, { kind: "message", text: words });
      shared.beforeTurn?.(mask.text(words), thread);
    },
    judge: async (effects) => {
      const request = { ...NO_CALL.request, thread: own.thread };
      return (await decide({ ...NO_CALL, request, effects }, { policies, backend, store })).decision;
    },
    async call(given, options) {
      try {
        const request = parse(given, own);
        return await run(request, options ?? {}, (host, stop) => callTool(request, host, stop));
      } catch (error) {
        return toResult(error, { aborted: false }); // of a program: a signal that is none, a getter that throws
      }
    },
    parked: () => store.parked({ target: targetOf(backend) }),
    async resume(given, options = {}) {
      const id = typeof given === "string" ? given : given.call;
      const [parked] = typeof given === "string" ? await store.parked({ call: id }).catch(() => []) : [given];
      if (parked === undefined) return recordedResult(store, id);
      const request = { ...parse(parked), id };
      // The stop is followed before the call is claimed, so that no stop is missed.
      return run(request, options, (host, stop) => {
        if (typeof given !== "string") return callTool(request, deliveredTo(host, parked), stop, parked);
        return host.elsewhere?.resume(parked, host, stop) ?? claimAndCall(request, parked, host, stop);
      });
    },
    with(options) {
      const theirs = derived(own, options, shared);
      if (options.parent !== undefined && theirs.thread !== own.thread)
        shared.conversations.join(theirs.thread, own.thread);
      return toolkitOf(shared, theirs, (callsEnded) => callsEnded, all);
    },
    async close() {
      if (calls.closed !== undefined) return;
      const reason = new Error("the toolkit was closed");
      calls.closed = reason;
      for (const stop of calls.running.values()) stop(reason);
      await keepingAlive(end(Promise.all(calls.running.keys())));
    },
  };
}

/** Stands for the approver of another process, whose answer comes through the store. Refuses after the time. */
function answersElsewhere(withinMs: number): Approver {
  return async (_call, _decision, signal) => {
    await pause(withinMs, signal);
    signal.throwIfAborted();
    return { answer: "refuse", reason: "Nobody answered in time." };
  };
}

/** The host, changed as a call's options demand. */
function hostWith(host: Host, options: CallOptions): Host {
  const { approver = host.approver, howToApprove = host.howToApprove, onEvent, park } = options;
  const isUsual = approver === host.approver && howToApprove === host.howToApprove && park === undefined;
  if (isUsual && onEvent === undefined) return host;
  const changed = { ...host, approver, howToApprove, onEvent };
  if (park === undefined) return changed;
  return park ? { ...changed, approver: undefined, parkAfterMs: 0 } : { ...changed, parkAfterMs: undefined };
}

/** The thread, parent and agent of a call: those of the call, otherwise those of the toolkit. */
function callerNames(given: Pick<CallRequest, keyof CallerNames>, own: CallerNames): CallerNames {
  const { thread = own.thread, parent = own.parent, agent = own.agent } = given;
  return { thread, ...(parent !== undefined && { parent }), ...(agent !== undefined && { agent }) };
}

type CallerNames = Pick<Own, "thread" | "parent" | "agent">;

function derived(
  own: Own,
  { tools, approver = own.approver, unattended, ...given }: DerivedOptions,
  { permanentGrants }: Pick<Shared, "permanentGrants">,
): Own {
  const place = callerNames(given, own);
  const seen = place.thread === own.thread ? own.seen : createSeenFiles();
  const { grants, isApproved, parkAfterMs } = own;
  const asking =
    unattended === undefined
      ? { approver, grants, isApproved, parkAfterMs }
      : { approver: undefined, grants: permanentGrants(), isApproved: unattended.isApproved, parkAfterMs: 0 };
  return { tools: tools === undefined ? own.tools : chosen(own, tools), ...asking, ...place, seen };
}

/** Chooses the tools. With a function, chooses again whenever the toolkit's tools have changed. */
function chosen(own: Own, tools: NonNullable<DerivedOptions["tools"]>): Own["tools"] {
  const choose = (from: Toolset) => {
    const named = toolset(typeof tools === "function" ? tools(from) : tools);
    const known = new Set(from.values());
    for (const tool of named.values()) if (!known.has(tool)) checkSchemasLater(tool);
    return named;
  };
  let from = own.tools();
  let named = choose(from);
  if (typeof tools !== "function") return () => named;
  return () => {
    if (own.tools() === from) return named;
    from = own.tools();
    named = choose(from);
    return named;
  };
}

/** Stands in for the call when effects are judged without one. */
const NO_CALL: Omit<CheckedCall, "effects"> = {
  request: { id: "", name: "", input: {}, thread: "main" },
  tool: defineTool({ name: "none", description: "", input: {}, run: async () => null }),
  input: {},
};
