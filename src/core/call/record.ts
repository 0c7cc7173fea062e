import type { CallEvent, CallUpdate, RecordedContent } from "../contract/activity.ts";
import type { ApprovedCall, ToolCall } from "../contract/call.ts";
import type { Refusal } from "../contract/containment.ts";
import { type Content, text } from "../contract/content.ts";
import { partText, partsText } from "../output/part-text.ts";
import { type Effect, isAct } from "../contract/effect.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { Decision } from "../contract/decision.ts";
import type { ParkedCall } from "../contract/parked.ts";
import type { QuestionId } from "../contract/question.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Json } from "../contract/schema.ts";
import type { SeenVersion } from "../contract/seen.ts";
import { messageOf } from "../util/errors.ts";
import { withoutBoundaries } from "../util/boundary.ts";
import { clip } from "../util/text.ts";
import type { MaskStream } from "../output/mask-stream.ts";
import type { Host } from "./host.ts";
import { maskedEnding } from "./mask-result.ts";
import { asText, errorOf } from "./result.ts";
import { findTool } from "./toolset.ts";
import { traceCall } from "./trace.ts";
import type { Decided } from "./watch.ts";

/**
 * Records the events of one call, with secrets masked, and traces it. Only `approved` can reject: for an act that was
 * not recorded.
 */
export interface Recorder {
  /** The W3C `traceparent` of the call's span; `undefined` when calls are not traced. */
  readonly trace: string | undefined;
  /** Runs work below the call's span. */
  within<T>(work: () => T): T;
  asked(question: QuestionId, effects: readonly Effect[], decision: Decision): void;
  /** `isStored`: the store already has the answer. */
  answered(question: QuestionId, answer: Decided, options: { readonly isStored: boolean }): void;
  /** Records the approval. For an act, resolves when its row is durable; other calls need not wait. */
  approved(call: ApprovedCall): Promise<void> | undefined;
  /** Hooks decided or changed something. */
  hooked(what: Omit<Extract<CallEvent, { readonly type: "call.hooked" }>, "type" | "call" | "thread" | "at">): void;
  updated(update: CallUpdate): void;
  /** The sandbox refused something to the call's commands. */
  refused(refusals: readonly Refusal[]): void;
  /** Closes the activity and returns the result, with a notice if the activity could not be recorded. */
  finished(result: ToolResult, images?: SavedImages): ToolResult;
}

/** The ids of the saved outputs that hold a result's images. */
export type SavedImages = ReadonlyMap<Content, string>;

// The longest error in a cell, in characters. The result has the whole error.
const ERROR_IN_EVENT = 200;

/** How many characters of a result are recorded. */
const MAX_RECORDED = 65_536;

/** The longest result that a worker records whole for its caller, in characters of JSON. */
const MAX_WHOLE = 4_000_000;

/**
 * Starts recording a call; with `parked`, continues its record. Never throws: when the store fails, acts do not run,
 * and other calls run with a notice.
 */
export function recordTo(
  {
    tools,
    store,
    onEvent,
    mask,
    alarms,
    seenForCaller,
  }: Pick<Host, "tools" | "store" | "onEvent" | "mask" | "alarms" | "seenForCaller">,
  request: ToolCall,
  parked?: ParkedCall,
): Recorder {
  const { paramsHint, userFacing } = findTool(tools, request.name) ?? {};
  const trace = traceCall(request);
  let problem: string | undefined;
  let output: MaskStream | undefined;

  const stamp = (event: Happening): CallEvent => ({
    call: request.id,
    thread: request.thread,
    at: Date.now(),
    ...event,
  });

  const tell = (event: CallEvent) => {
    try {
      onEvent?.(event);
    } catch {
      // A failing listener does not fail the call.
    }
  };

  const commit = async (event: CallEvent) => {
    try {
      if (problem !== undefined) throw new Error(problem);
      await store.commit(event);
    } catch (error) {
      problem = messageOf(error);
      throw new ToolFailure(`the call could not be recorded, so it was not run: ${problem}`, {
        hint: "Calls that only read still work.",
        cause: error,
      });
    }
    tell(event);
  };

  const append = (happening: Happening) => {
    const event = stamp(happening);
    try {
      store.append(event);
    } catch (error) {
      problem = messageOf(error);
    }
    tell(event);
  };

  if (parked === undefined)
    append({
      type: "call.started",
      name: request.name,
      input: mask.json(asJson(request.input)),
      ...(paramsHint !== undefined && { paramsHint }),
      ...(userFacing === false && { userFacing }),
      ...(request.parent !== undefined && { parent: request.parent }),
      ...(request.agent !== undefined && { agent: request.agent }),
      ...(trace.traceparent !== undefined && { trace: trace.traceparent }),
    });

  return {
    trace: trace.traceparent,
    within: trace.within,
    asked(question, effects, decision) {
      trace.asked(question);
      append(mask.json({ type: "approval.requested", question, effects, decision }));
    },
    answered(question, { approval, by }, { isStored }) {
      trace.answered(question, approval.answer);
      const event = { type: "approval.decided", question, approval: mask.json(approval), by } as const;
      if (isStored) tell(stamp(event));
      else append(event);
    },
    approved({ effects, decision }) {
      trace.decided(decision);
      if (effects.length === 0) return undefined; // nothing was decided
      for (const effect of effects) if (effect.kind === "exec" && effect.env !== undefined) mask.learn(effect.env);
      const event = stamp({
        type: "call.approved",
        effects: mask.json(effects),
        decision: mask.json(decision),
      });
      if (effects.some(isAct)) return commit(event);
      append(event);
      return undefined;
    },
    hooked: (what) => append(mask.json({ type: "call.hooked", ...what })),
    updated(update) {
      const { output: more, ...rest } = update;
      if (more === undefined) return append({ type: "call.updated", update: mask.json(update) });
      output ??= mask.stream();
      const shown = output.add(more);
      if (shown === "" && more !== "" && Object.keys(rest).length === 0) return; // held back: may be part of a secret
      append({ type: "call.updated", update: { ...mask.json(rest), output: shown } });
    },
    refused(refusals) {
      append(mask.json({ type: "sandbox.refused", refusals }));
      const alarm = alarms?.(refusals);
      if (alarm !== undefined) append({ type: "sandbox.alarmed", ...alarm });
    },
    finished(given, images) {
      trace.ended(given.status);
      const held = output?.end() ?? "";
      if (held !== "") append({ type: "call.updated", update: { output: held } });
      if (given.status === "parked") return given; // the call has not ended
      const result = given.status === "ok" ? given : maskedEnding(given, mask);
      // No spread: on V8, `{ ...event, data }` makes ten times as much garbage (measured on Node 20).
      const content = recorded(result, images);
      if (parked?.delivery !== undefined) {
        const of = { type: "call.finished", content, ...forCaller(result, seenForCaller?.() ?? []) } as const;
        append({ ...of, ...(result.status === "ok" ? { status: "ok", data: result.data } : failureOf(result)) });
      } else if (result.status === "ok") append({ type: "call.finished", status: "ok", data: result.data, content });
      else append({ type: "call.finished", ...failureOf(result), content });
      if (problem === undefined || result.status !== "ok") return result;
      return { ...result, content: [...result.content, text(`[This call was not recorded: ${problem}]`)] };
    },
  };
}

/** The content of a result, truncated for the record. */
function recorded(result: ToolResult, images: SavedImages | undefined) {
  const parts = result.status === "ok" ? result.content : [text(asText(result))];
  let left = MAX_RECORDED;
  return parts.map((part): RecordedContent => {
    if (part.type === "image") {
      const output = images?.get(part);
      const bytes = Buffer.byteLength(part.data, "base64");
      return { type: "image", mimeType: part.mimeType, bytes, ...(output !== undefined && { output }) };
    }
    const words = partText(part);
    const kept = words.length <= left ? words : clip(words, Math.max(1, left));
    left -= words.length;
    return { type: "text", text: kept };
  });
}

/** What the caller of a call gets besides its recorded data and content. */
function forCaller(result: ToolResult, seen: readonly SeenVersion[]) {
  const isAllText = result.status === "ok" && result.content.every(({ type }) => type === "text");
  const isRecorded = isAllText && partsText(result.content).length <= MAX_RECORDED;
  const isWhole = !isRecorded && JSON.stringify(result).length <= MAX_WHOLE;
  return { ...(isWhole && { result }), ...(seen.length > 0 && { seen }) };
}

function failureOf(result: Exclude<ToolResult, { readonly status: "ok" | "parked" }>) {
  const { status } = result;
  const error = errorOf(result);
  const data = result.status === "failed" ? result.data : undefined;
  return {
    status,
    ...(error !== undefined && { error: clip(withoutBoundaries(error), ERROR_IN_EVENT) }),
    ...(data !== undefined && { data }),
  };
}

type Happening = CallEvent extends infer Event
  ? Event extends CallEvent
    ? Omit<Event, "call" | "thread" | "at">
    : never
  : never;

/** Programs may pass any input; events carry JSON. */
function asJson(input: unknown): Json {
  return (input ?? null) as Json;
}
