import { text } from "../core/contract/content.ts";
import type { ThreadId } from "../core/contract/identity.ts";
import type { Message } from "../core/contract/message.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { asText } from "../core/call/result.ts";
import { type Calling, type ToolMessage, announce, answerCall, messageFor, emitCallEvent } from "./calls.ts";
import type { AgentEvent } from "./events.ts";
import { callsOf } from "./conversation.ts";
import type { Transcript } from "./transcript.ts";

export interface SettleOptions {
  readonly toolkit: Toolkit;
  readonly thread: ThreadId;
  readonly transcript: Transcript;
  readonly emit: (event: AgentEvent) => void;
  /** Adds a notice for the model to the thread. */
  readonly deliver: (message: Message) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes the parked calls of a thread that were approved, and adds the results of the calls that have ended: as the
 * result of the call, or as a notice if the call's recorded result was that it waits. A notice is added only when every
 * call has a result, so that it is never between a call and its result. Resolves to the calls that still wait without a
 * result, and to whether the model has anything new to read.
 *
 * @throws Error when the store cannot be read or written.
 */
export async function settleParked(
  options: SettleOptions,
): Promise<{ readonly waiting: readonly Calling[]; readonly hasNews: boolean }> {
  const { toolkit, thread, transcript, emit, deliver, signal } = options;
  const { store } = toolkit;
  const results = { toolkit, emit, onResult: transcript.add };
  const notices: Message[] = [];
  let hasNews = false;
  const seen = new Set<string>();
  /** The calls are read again each time: a person may answer one call while another call runs. */
  const next = async () => {
    const calls = await store.parked({ thread, states: ["ready", "ended"] });
    return calls.find(({ question, state, turn }) => turn !== undefined && !seen.has(`${question} ${state}`));
  };
  for (let parked = await next(); parked !== undefined && !signal.aborted; parked = await next()) {
    const { call: id, name, question, state } = parked;
    seen.add(`${question} ${state}`);
    const calling = transcript.messages
      .flatMap((message) => (message.role === "assistant" ? callsOf(message.content) : []))
      .find((call) => call.id === id);
    const isOpen = transcript.unanswered().some((call) => call.id === id);
    if (calling !== undefined && isOpen) announce(calling, results);
    const startedMs = performance.now();
    const result = await toolkit.resume(id, { signal, onEvent: (event) => emitCallEvent(event, name, emit) });
    const [left] = await store.parked({ call: id });
    if (left !== undefined && left.state !== "ended") continue; // asked again, or taken by another process
    if (calling !== undefined && isOpen) {
      const ms = Math.round(performance.now() - startedMs);
      answerCall(calling, messageFor(calling, result), ms, results);
      hasNews = true;
    } else if (!transcript.messages.some((message) => message.role === "user" && message.outcomeOf === id)) {
      const ending = `has ended (${result.status}):\n${asText(result)}`;
      const words = `[The call ${id} of ${name}, which waited for a person, ${ending}]`;
      notices.push({ role: "user", from: "handrail", content: [text(words)], outcomeOf: id });
      seen.add(`${question} ended`);
      continue;
    }
    await store.move(id, { to: "delivered" });
  }
  const waiting = transcript.unanswered();
  if (waiting.length > 0) return { waiting, hasNews };
  for (const notice of notices) {
    deliver(notice);
    if (notice.role === "user" && notice.outcomeOf !== undefined)
      await store.move(notice.outcomeOf, { to: "delivered" });
  }
  return { waiting, hasNews: hasNews || notices.length > 0 };
}

/** The result of a call that still waits when the conversation continues. Its later outcome is a notice. */
export function waitingMessage({ id, name }: Calling): ToolMessage {
  const words =
    `This call of ${name} waits for a person, ${id}. It has not run. Continue without it, and do not repeat it: ` +
    "what comes of it will be told.";
  return { role: "tool", call: id, status: "parked", content: [text(words)] };
}

/** How a turn ends if its calls wait. */
export function parkedEnd(waiting: readonly Calling[]) {
  const which = waiting.map(({ id, name }) => `${name} (${id})`).join(", ");
  return {
    reason: "parked",
    message: `Waiting for a person: ${which}. The turn continues when it is answered.`,
  } as const;
}
