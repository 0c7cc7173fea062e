import { isDeepStrictEqual } from "node:util";
import { whyNotFrom } from "../../core/contract/approvers.ts";
import type { CallEvent, CallUpdate } from "../../core/contract/activity.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { AnswerOutcome } from "../../core/contract/question.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { createCallOrder } from "../../core/call/call-order.ts";
import { onEvents } from "../../core/call/on-events.ts";
import { parse } from "../../core/call/parse.ts";
import { recordedResult } from "../../core/call/recorded-result.ts";
import { asText } from "../../core/call/result.ts";
import { describeCall } from "../../policy/describe.ts";
import { pause } from "../../core/util/abort.ts";
import { later } from "../../core/util/promises.ts";
import { oneOf, requireShape, text } from "../../core/util/shape.ts";

/** Options of every adapter. */
export interface AdapterOptions {
  /** The thread of the calls. Default: the toolkit's thread. */
  readonly thread?: ThreadId;
  /**
   * Who asks a person about a call that needs approval. "sdk": the SDK's own mechanism; until it has an answer the call
   * is parked in the toolkit's store, and may be answered there too. "toolkit": the toolkit asks its approver, parks
   * the call or denies it, as its options say, and the SDK is not involved. Default "sdk".
   */
  readonly approvals?: "sdk" | "toolkit";
}

/** A call, with the id that the SDK or the provider gave it. */
export interface SdkCall {
  readonly id: CallId;
  readonly name: string;
  /** A JSON string, or the value. */
  readonly input: unknown;
}

/** An answer to the question about a call. */
export interface SdkAnswer {
  readonly approved: boolean;
  /** Why not, for the model. */
  readonly reason?: string;
}

/** Asks the SDK's person about a call. The signal fires when somebody has answered elsewhere. */
export type AskPerson = (signal: AbortSignal) => Promise<SdkAnswer | boolean>;

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the SDK's person may have seen the question. Default true. False: an open question is refused. */
  readonly isAnswered?: boolean;
  /** Called with what the running call reports to people. */
  readonly onUpdate?: ((update: CallUpdate) => void) | undefined;
}

/** Makes the calls of an SDK. */
export interface Hand {
  /**
   * Asks the policy about a call before the SDK makes it. Resolves to what a person is to be shown, as raw text, and
   * parks the call; `undefined` if the SDK need not ask. A call that was asked about before resolves to a text again.
   * Resolves in the order of the calls, so that the SDK makes them in this order.
   *
   * @param isAnswered whether what the SDK continues has a question or an answer about this call already. Only a
   * question of this store counts then: a client, or a model, may have written the history. Default false.
   */
  question(call: SdkCall, isAnswered?: boolean): Promise<string | undefined>;
  /**
   * Makes a call. Only for calls that need no person, and for calls that the SDK's person has approved. Calls that
   * touch the same thing are made in the order in which `run` was called. A call that a person was asked about runs
   * once: repeated, it resolves to its result. Never rejects.
   */
  run(call: SdkCall, options?: RunOptions): Promise<ToolResult>;
  /**
   * Asks the SDK's person about a call, and resolves to the answer that counts: that of the person, or one that was
   * given elsewhere before, such as in the console. It is for the SDK, with the reason of a refusal.
   */
  answer(id: CallId, ask: AskPerson): Promise<SdkAnswer>;
  /**
   * Closes the question about a call that the SDK's person has refused. "closed": it came too late, since somebody
   * answered before or the call has ended. The call then runs, or has run: have the SDK make it, so that the model
   * reads its result. "unknown": nobody was asked about the call.
   */
  refuse(id: CallId, reason?: string): Promise<AnswerOutcome>;
}

const UNSEEN = {
  answer: "refuse",
  reason: "The decision was made before the question, so nobody saw it. Make the call again.",
} as const;

/** How often to look for the result of a call that another process makes, in milliseconds. */
const LOOK_MS = 200;

/**
 * The common core of the adapters: approval and order. A call that needs a person is parked under the SDK's id, so that
 * its answer counts once, whatever the SDK repeats and whichever process continues, and only for what was asked.
 *
 * @param by where answers come from, for people: "AI SDK"
 * @throws TypeError for an option that does not exist, or a value that cannot be.
 */
export function createHand(given: Toolkit, options: AdapterOptions, by: string): Hand {
  requireShape(`the adapter for ${by}`, options, { thread: text, approvals: oneOf("sdk", "toolkit") });
  const { thread, approvals = "sdk" } = options;
  const toolkit = thread === undefined ? given : given.with({ thread });
  const { store } = toolkit;
  const own = thread !== undefined && { thread };
  /**
   * Calls that ended when they were to be parked: nobody may approve them here, or they have been granted meanwhile.
   */
  const ended = new Map<CallId, ToolResult>();

  /** The call under this id that a person was asked about. */
  const asked = async (id: CallId): Promise<Asked | undefined> => {
    const [row] = await store.parked({ call: id, ...own });
    if (row !== undefined) return row;
    let begun: { readonly name: string; readonly input: Json } | undefined;
    for await (const event of store.events({ call: id, ...own, types: ["call.started", "call.parked"] })) {
      if (event.type === "call.started") begun = event;
      if (event.type === "call.parked" && begun !== undefined) return { name: begun.name, input: begun.input };
    }
    return undefined;
  };

  const order = createCallOrder(toolkit);
  /** Resolves when every earlier question has resolved, and the SDK has had the time to make its call. */
  let asking: Promise<unknown> = Promise.resolve();

  const questionOf = async (call: SdkCall, isAnswered: boolean): Promise<string | undefined> => {
    const before = await asked(call.id);
    if (before !== undefined) return isSame(call, before) ? "" : undefined;
    if (isAnswered) return undefined; // `run` judges it: the call is denied, or the toolkit's own approver is asked
    const preview = await toolkit.preview(call);
    if (preview.status !== "asks" || whyNotFrom("terminal", preview.decision) !== undefined) return undefined;
    const result = await toolkit.call(call, { park: true });
    if (result.status === "parked") return describeCall(preview.call);
    ended.set(call.id, result);
    return undefined;
  };

  const make = async (call: SdkCall, { signal, isAnswered = true, onUpdate }: RunOptions): Promise<ToolResult> => {
    const how = {
      ...(signal !== undefined && { signal }),
      ...(onUpdate !== undefined && {
        onEvent: (event: CallEvent) => event.type === "call.updated" && onUpdate(event.update),
      }),
    };
    const before = approvals === "sdk" ? await asked(call.id) : undefined;
    if (before === undefined) return toolkit.call(call, how);
    if (!isSame(call, before)) {
      const message = `the id ${call.id} belongs to an earlier call of ${before.name} with other arguments`;
      return { status: "failed", message, hint: "Nothing was run. Make the call again." };
    }
    // The SDK's person has not seen what has changed since: that question is for the store.
    if (before.state === "parked" && before.question !== undefined && before.changed === undefined)
      await store.answer(before.question, isAnswered ? { answer: "once" } : UNSEEN, by);
    for (;;) {
      const result = await toolkit.resume(call.id, how);
      const [row] = await store.parked({ call: call.id });
      if (row?.state !== "taken" || signal?.aborted) return result;
      await pause(LOOK_MS, signal); // another process, such as `handrail serve`, was first
    }
  };

  /** Resolves when the question about a call is open no longer. */
  const closed = async (id: CallId, signal: AbortSignal): Promise<undefined> => {
    const { promise, resolve } = later();
    const look = async () => {
      const [row] = await store.parked({ call: id, ...own });
      if (row?.state !== "parked") resolve();
    };
    const looking = () => void look().catch(() => undefined); // the next event looks again
    looking();
    void onEvents(store, ["approval.decided", "call.finished"], looking, signal);
    await promise;
  };

  const hand: Hand = {
    question(call, isAnswered = false) {
      if (approvals === "toolkit") return Promise.resolve(undefined);
      const question = Promise.allSettled([questionOf(call, isAnswered), asking]).then(([ending]) => {
        if (ending.status === "fulfilled") return ending.value;
        throw ending.reason;
      });
      asking = question.then(nextTask, nextTask);
      return question;
    },
    run(call, how = {}) {
      const early = ended.get(call.id);
      return early === undefined ? order.run(call, () => make(call, how), how.signal) : Promise.resolve(early);
    },
    async answer(id, ask) {
      const isKnown = (await asked(id)) !== undefined;
      const done = new AbortController();
      try {
        const here = ask(done.signal).then((said) => (typeof said === "boolean" ? { approved: said } : said));
        here.catch(() => undefined); // an answer from elsewhere was first
        if (!isKnown) return await here;
        const first = await Promise.race([here, closed(id, done.signal)]);
        if (first?.approved === false) await hand.refuse(id, first.reason);
        const [row] = await store.parked({ call: id, ...own });
        if (first?.approved === false && row?.state === "parked") return first; // asked about again meanwhile
        if (row !== undefined && row.state !== "ended") return { approved: true };
        const result = await recordedResult(store, id);
        return result.status === "denied" ? { approved: false, reason: asText(result) } : { approved: true };
      } finally {
        done.abort();
      }
    },
    async refuse(id, reason) {
      const [row] = await store.parked({ call: id, ...own });
      if (row !== undefined)
        return store.answer(row.question, { answer: "refuse", ...(reason !== undefined && { reason }) }, by);
      const before = await asked(id);
      return before === undefined ? { status: "unknown" } : { status: "closed", reason: "its call has ended" };
    },
  };
  return hand;
}

/** Resolves after everything that is due now: an SDK that continues with a resolved promise has done so. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

interface Asked {
  readonly name: string;
  readonly input: Json;
  readonly state?: string;
  readonly question?: string;
  readonly changed?: readonly string[];
}

/** Whether a call is the call that a person was asked about: an SDK may use an id twice, and a client may send any. */
function isSame(call: SdkCall, { name, input }: Asked): boolean {
  return call.name === name && isDeepStrictEqual(parse(call).input, input);
}
