import type { CallEvent } from "../core/contract/activity.ts";
import { type Content, text } from "../core/contract/content.ts";
import type { AssistantPart, Message } from "../core/contract/message.ts";
import type { ToolResult } from "../core/contract/result.ts";
import type { Toolkit } from "../core/contract/toolkit.ts";
import { createCallOrder } from "../core/call/call-order.ts";
import { asContent } from "../core/call/result.ts";
import { findTool } from "../core/call/toolset.ts";
import { withoutBoundaries } from "../core/util/boundary.ts";
import { messageOf } from "../core/util/errors.ts";
import type { Budget } from "./budget.ts";
import type { AgentEvent } from "./events.ts";
import { partsText } from "../core/output/part-text.ts";

export type Calling = Extract<AssistantPart, { type: "call" }>;
export type ToolMessage = Extract<Message, { role: "tool" }>;

/** How many calls of one reply run concurrently. */
const SIDE_BY_SIDE = 8;

/** How many calls of one reply run. The rest is reported as not started: the model may have repeated itself. */
const MOST_CALLS = 64;

/** After how many equal failures a notice asks the model to try something else. */
const SAME_FAILURES = 3;

/** What calls need from their turn. */
export interface CallResults {
  readonly toolkit: Toolkit;
  readonly emit: (event: AgentEvent) => void;
  /** Called with each result as soon as it is available. */
  readonly onResult: (message: ToolMessage) => void;
}

export interface CallsOptions extends CallResults {
  /** The id of the turn. */
  readonly turn: string;
  readonly signal: AbortSignal;
  readonly failures: Failures;
  readonly budget: Pick<Budget, "countUnasked">;
}

/**
 * Runs the calls of one reply, side by side where their order does not matter (`createCallOrder`). Each call gets
 * exactly one result: when the signal fires, running calls are stopped and the rest are reported as not started.
 * Resolves to the parked calls, which have no result yet. Never rejects.
 */
export async function runCalls(given: readonly Calling[], options: CallsOptions): Promise<readonly Calling[]> {
  const calls = given.slice(0, MOST_CALLS);
  const why = `one reply may make ${MOST_CALLS} calls, this one made ${given.length}. Repeat it if it is still needed`;
  refuseCalls(given.slice(MOST_CALLS), why, options);
  const { toolkit, turn, signal, emit, failures, budget } = options;
  const order = createCallOrder(toolkit);
  const running = new Set<Promise<void>>();
  const parked = new Set<Calling>();
  for (const call of calls) announce(call, options);
  const run = async (call: Calling) => {
    if (signal.aborted) return answerCall(call, notStarted(call, "the turn was stopped"), 0, options);
    const startedMs = performance.now();
    emit({ type: "tool_started", id: call.id, name: call.name });
    const result = await resultOf(call, turn, toolkit, signal, emit);
    if (result.status === "parked") {
      parked.add(call);
      return emit({ type: "approval", id: call.id, name: call.name, status: "parked" });
    }
    if (result.status === "denied" && result.by === "nobody") budget.countUnasked();
    answerCall(
      call,
      failures.noted(call, messageFor(call, result)),
      Math.round(performance.now() - startedMs),
      options,
    );
  };
  for (const call of calls) {
    while (running.size >= SIDE_BY_SIDE) await Promise.race(running);
    const ended = order.run(call, () => run(call), signal);
    running.add(ended);
    void ended.then(() => running.delete(ended));
  }
  await Promise.all(running);
  return calls.filter((call) => parked.has(call));
}

/** Reports results for calls that are not run. */
export function refuseCalls(calls: readonly Calling[], why: string, results: CallResults): void {
  for (const call of calls) {
    announce(call, results);
    answerCall(call, notStarted(call, why), 0, results);
  }
}

/** Reports that a call is about to be made. */
export function announce({ id, name, input }: Calling, { toolkit, emit }: CallResults): void {
  const isHidden = findTool(toolkit.tools, name)?.userFacing === false;
  emit({ type: "tool_call", id, name, input, ...(isHidden && { userFacing: false }) });
}

/** Adds the result of a call. */
export function answerCall(
  { id, name }: Calling,
  message: ToolMessage,
  ms: number,
  { emit, onResult }: CallResults,
): void {
  onResult(message);
  emit({
    type: "tool_result",
    id,
    name,
    status: message.status,
    text: withoutBoundaries(partsText(message.content)),
    ms,
  });
}

/** Returns the result of a call that was not run. */
export function notStarted({ id }: Calling, why: string): ToolMessage {
  return { role: "tool", call: id, status: "not-started", content: [text(`This call was not started: ${why}.`)] };
}

/** Makes a call. A toolkit never rejects, but a toolkit that a program wraps may reject. */
async function resultOf(
  { id, name, input }: Calling,
  turn: string,
  toolkit: Toolkit,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
): Promise<ToolResult> {
  try {
    return await toolkit.call(
      { id, name, input, turn },
      { signal, onEvent: (event) => emitCallEvent(event, name, emit) },
    );
  } catch (error) {
    return { status: "failed", message: messageOf(error) };
  }
}

/** Reports an event of a call. */
export function emitCallEvent(event: CallEvent, name: string, emit: (event: AgentEvent) => void): void {
  const { call: id } = event;
  if (event.type === "call.updated") emit({ type: "tool_update", id, name, update: event.update });
  if (event.type === "approval.requested") {
    const { reason } = event.decision;
    emit({ type: "approval", id, name, status: "asked", ...(reason !== undefined && { reason }) });
  }
  if (event.type === "approval.decided") {
    const { approval } = event;
    const { answer } = approval;
    const reason = approval.answer === "refuse" ? approval.reason : undefined;
    const status = answer === "refuse" ? "refused" : "approved";
    const edited = approval.answer === "once" ? approval.edited : undefined;
    emit({
      ...{ type: "approval", id, name, status, answer },
      ...(reason !== undefined && { reason }),
      ...(edited !== undefined && { edited: JSON.stringify(edited) }),
    });
  }
}

/** Returns the result as the model reads it. */
export function messageFor({ id }: Calling, result: ToolResult): ToolMessage {
  return { role: "tool", call: id, status: result.status, content: asContent(result).content };
}

/** Counts repeated failures. */
export interface Failures {
  /** Returns the message. Adds a notice if the tool has failed in the same way several times since its last success. */
  noted(call: Calling, message: ToolMessage): ToolMessage;
}

export function createFailures(): Failures {
  const counts = new Map<string, number>();
  return {
    noted({ name }, message) {
      if (message.status === "ok") {
        for (const key of counts.keys()) if (key.startsWith(`${name}\n`)) counts.delete(key);
        return message;
      }
      if (message.status === "aborted" || message.status === "not-started") return message;
      const key = `${name}\n${partsText(message.content).replaceAll(/\d+(\.\d+)?/g, "0")}`; // numbers may differ
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count < SAME_FAILURES) return message;
      const notice: Content = text(
        `[${name} has failed this way ${count} times. Do not try the same again: find out why it fails, or do ` +
          "it another way.]",
      );
      return { ...message, content: [...message.content, notice] };
    },
  };
}
