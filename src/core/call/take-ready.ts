import type { ThreadId } from "../contract/identity.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { pause } from "../util/abort.ts";
import { soonest } from "../util/soonest.ts";
import { targetOf } from "./park.ts";
import { findTool } from "./toolset.ts";

/** How many parked calls one process makes at the same time. */
const SIDE_BY_SIDE = 8;

/**
 * How soon after the end of a call to look for parked calls that ended without an answer (expired, withdrawn,
 * interrupted), and the first pause after a failure. Milliseconds.
 */
const LOOK_MS = 5_000;

/** The pause before the store is read again after a failure, in milliseconds. */
const RETRY_MS = 1_000;

export interface TakeReadyOptions {
  /** Only calls of this thread. */
  readonly thread?: ThreadId;
  /**
   * Continues the turn of an agent, calls of which are ready or have ended. By default, or if it rejects, these calls
   * are made like other calls, and their turn continues elsewhere. "leave": other processes make them.
   */
  readonly agents?: ((thread: ThreadId) => Promise<unknown>) | "leave";
}

/**
 * Makes the parked calls of the toolkit's target once they are approved, and those approved before, until the returned
 * function is called. Of several processes that do this, exactly one makes each call.
 */
export function takeReady(toolkit: Toolkit, { agents, thread: only }: TakeReadyOptions = {}): () => void {
  const { store, backend } = toolkit;
  const busy = new Set<string>();
  /** What was begun, and when it may begin again: after each failure the pause grows. */
  const begun = new Map<string, { readonly fromMs: number; readonly pauseMs: number }>();
  const closing = new AbortController();
  const { signal } = closing;

  const begin = (key: string, { question, state }: ParkedCall, work: () => Promise<unknown>) => {
    const step = `${question} ${state}`;
    const before = begun.get(step);
    const nowMs = performance.now();
    const { fromMs = 0 } = before ?? {};
    if (signal.aborted || busy.size >= SIDE_BY_SIDE || busy.has(key)) return;
    if (nowMs < fromMs) return looking.in(fromMs - nowMs);
    const pauseMs = before === undefined ? LOOK_MS : 2 * before.pauseMs;
    begun.set(step, { fromMs: nowMs + pauseMs, pauseMs });
    busy.add(key);
    const end = () => {
      busy.delete(key);
      void look(); // for calls that had to wait
    };
    void work().then(end, end);
  };

  const take = (parked: ParkedCall) => {
    const { call, name, thread, turn, state } = parked;
    if (turn === undefined && parked.delivery !== undefined) return; // a worker makes it
    if (turn !== undefined && agents !== undefined) {
      if (agents !== "leave") begin(`thread ${thread}`, parked, () => agents(thread).catch(() => toolkit.resume(call)));
    } else if (state === "ready" && findTool(toolkit.tools, name) !== undefined)
      begin(`call ${call}`, parked, () => toolkit.resume(call));
  };

  const look = async () => {
    if (signal.aborted || busy.size >= SIDE_BY_SIDE) return;
    const given = only !== undefined && { thread: only };
    const target = targetOf(backend);
    const ready = await store.parked({ target, states: ["ready", "ended"], ...given }).catch(() => []);
    ready.forEach(take);
  };

  const looking = soonest(() => void look());

  const follow = async () => {
    await look();
    void toolkit.ready.then(look); // with the tools of sources, once they have started
    while (!signal.aborted) {
      try {
        const types = ["approval.decided", "call.finished"] as const;
        for await (const { type } of store.events({ types, after: "now", follow: true, signal })) {
          if (type === "approval.decided") await look();
          else looking.in(LOOK_MS);
        }
        return closing.abort(); // the store was closed
      } catch {
        await pause(RETRY_MS, signal, { keepsAlive: false });
        await look();
      }
    }
  };

  void follow();
  const forget = toolkit.onToolsChanged(() => looking.in(0));
  signal.addEventListener("abort", () => {
    looking.stop();
    forget();
  });
  return () => closing.abort();
}
