import { isDeepStrictEqual } from "node:util";
import {
  type CallToolRequestParams,
  type CallToolResult,
  type InputRequiredResult,
  type RequestId,
  type ServerContext,
  inputRequired,
} from "@modelcontextprotocol/server";
import { type Content, text } from "../../core/contract/content.ts";
import type { Approver } from "../../core/contract/policy.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { JsonSchema } from "../../core/contract/schema.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { asContent, asText } from "../../core/call/result.ts";
import { outputFault } from "../../core/call/validate.ts";
import { onAbort } from "../../core/util/abort.ts";
import { randomName } from "../../core/util/identifier.ts";
import { wellFormed } from "../../core/util/well-formed.ts";
import { blockOf } from "./blocks.ts";
import { type CallProgress, createProgress } from "./progress.ts";
import { type Question, answerOf, formOf } from "./form.ts";
import type { CallsOptions } from "./options.ts";
import { approvalForm, approvalOf, offeredBy, wantsWhole } from "./question.ts";
import { type Questions, createQuestions } from "./questions.ts";

const ANSWER_WITHIN_MS = 10 * 60 * 1_000;

/** The key of the question whether a call may run. */
const APPROVAL = "approval";

const USE_ELICITATION = "To allow it, a person uses an MCP client that can ask them (elicitation).";

/** How the client of a request can be asked to approve the call. */
export type Asking =
  /**
   * By a request of ours, while the client's request is open (up to 2025-11-25). Resolves to the client's answer,
   * unchecked.
   */
  | {
      readonly how: "request";
      readonly revision: string;
      send(form: Question["form"], options: { timeout: number; signal: AbortSignal }): Promise<unknown>;
    }
  /**
   * By answering the client's request with the question. The answer comes with another request for the same call
   * (2026-07-28).
   */
  | { readonly how: "answer"; readonly revision: string };

/** The calls of MCP clients to a toolkit's tools. */
export interface Calls {
  /**
   * Handles one tools/call: makes the call, or continues one that waited for an approval. Stops the call when the
   * request is cancelled. Rejects only with the SDK's `ProtocolError`, for a wrong `requestState` and an unknown tool.
   *
   * @param asking how the client can be asked; `undefined` if it cannot be asked
   */
  answer(
    params: CallToolRequestParams,
    context: ServerContext,
    asking: Asking | undefined,
  ): Promise<CallToolResult | InputRequiredResult>;
  /** Stops the call whose approval was requested in the answer to this request, if there is one. */
  cancel(request: RequestId): void;
  /** True while a call runs or waits for an approval. */
  isBusy(): boolean;
  /** Stops every call. Resolves when all have ended. Never rejects. */
  close(): Promise<void>;
}

/** A call that has started. It may span several requests of the client if it waits for approvals. */
interface RunningCall {
  readonly name: string;
  readonly input: object;
  readonly result: Promise<ToolResult>;
  readonly questions: Questions;
  readonly progress: CallProgress;
  stop(reason: string): void;
}

/** A call that waits for a request with the answer. */
interface WaitingCall {
  readonly call: RunningCall;
  readonly question: Question;
  readonly request: RequestId;
  readonly expiry: NodeJS.Timeout;
}

/** Creates the calls of one connection, or of all clients of a server whose requests are independent. */
export function createCalls(toolkit: Toolkit, options: CallsOptions = {}): Calls {
  const { thread, askClient = true, answerWithinMs = ANSWER_WITHIN_MS, howToApprove = USE_ELICITATION } = options;
  const running = new Set<RunningCall>();
  const waiting = new Map<string, WaitingCall>();

  const begin = (params: CallToolRequestParams, context: ServerContext, asking: Asking | undefined): RunningCall => {
    const { name, arguments: input = {} } = params;
    const controller = new AbortController();
    const questions = createQuestions();
    const progress = createProgress();
    tellProgress(progress, context);
    const trace = context.mcpReq._meta?.["traceparent"];
    const result = toolkit.call(
      { name, input, ...(thread !== undefined && { thread }), ...(typeof trace === "string" && { trace }) },
      {
        signal: controller.signal,
        howToApprove,
        onEvent: progress.watch,
        ...(askClient && asking !== undefined && { approver: approverOf(asking, questions, answerWithinMs) }),
      },
    );
    const call: RunningCall = {
      name,
      input,
      result,
      questions,
      progress,
      stop: (reason) => controller.abort(new Error(reason)),
    };
    running.add(call);
    void result.then(() => running.delete(call));
    return call;
  };

  /** Follows a call until it has a result or a question for the client. */
  const follow = async (call: RunningCall, context: ServerContext, asking: Asking | undefined) => {
    const release = onAbort(context.mcpReq.signal, () => call.stop("the client cancelled the call"));
    for (;;) {
      const next = await Promise.race([call.result, call.questions.next()]);
      if ("form" in next && asking === undefined) {
        call.questions.answer(next, {
          action: "decline",
          content: { reason: "The client can no longer ask anyone." },
        });
        continue;
      }
      await call.progress.finish();
      release();
      if ("form" in next) return wait(call, next, context.mcpReq.id);
      if (next.status === "unknown-tool") throw await invalidParams(asText(next));
      return toCallResult(next, toolkit.tools.get(call.name)?.output, howToWait(next, toolkit));
    }
  };

  const wait = (call: RunningCall, question: Question, request: RequestId): InputRequiredResult => {
    const state = randomName(32);
    const expire = () => {
      waiting.delete(state);
      if (call.questions.isOpen(question)) call.stop("nobody answered in time");
    };
    waiting.set(state, { call, question, request, expiry: setTimeout(expire, answerWithinMs).unref() });
    const asked = { method: "elicitation/create" as const, params: question.form };
    return inputRequired({ inputRequests: { [question.key]: asked }, requestState: state });
  };

  /** Returns and removes the waiting call. Each state is valid for one request, whatever its result. */
  const take = (state: string): WaitingCall | undefined => {
    const found = waiting.get(state);
    if (found === undefined) return undefined;
    clearTimeout(found.expiry);
    waiting.delete(state);
    return found;
  };

  return {
    async answer(params, context, asking) {
      const state = context.mcpReq.requestState<string>();
      if (state === undefined) return follow(begin(params, context, asking), context, asking);
      const taken = take(state);
      if (taken === undefined) throw await invalidParams(UNKNOWN_STATE);
      const { call, question } = taken;
      if (!isSameCall(call, params)) {
        call.stop("its requestState came back with another call");
        throw await invalidParams(MOVED_STATE);
      }
      tellProgress(call.progress, context);
      const response = context.mcpReq.inputResponses?.[question.key];
      // Without an answer the question is asked again, as the specification requires.
      if (response !== undefined) call.questions.answer(question, response);
      return follow(call, context, asking);
    },
    cancel(request) {
      for (const [state, { call, request: asked }] of waiting) {
        if (asked !== request) continue;
        take(state);
        call.stop("the client cancelled the call");
      }
    },
    isBusy: () => running.size > 0,
    async close() {
      for (const state of [...waiting.keys()]) take(state);
      for (const call of running) call.stop("the connection has ended");
      await Promise.all([...running].map(({ result }) => result));
    },
  };
}

const UNKNOWN_STATE =
  "no call is waiting with this requestState: it was used before, has expired, or is from another server. " +
  "Nothing was run. To make the call, send it without requestState and inputResponses.";

const MOVED_STATE =
  "this requestState belongs to a call with another name or other arguments; that call was stopped. " +
  "Nothing was run. To make this call, send it without requestState and inputResponses.";

/** The error of a request that cannot be answered: no tool has failed. */
async function invalidParams(message: string): Promise<Error> {
  const { ProtocolError, ProtocolErrorCode } = await import("@modelcontextprotocol/server");
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function isSameCall({ name, input }: RunningCall, params: CallToolRequestParams): boolean {
  return params.name === name && isDeepStrictEqual(params.arguments ?? {}, input);
}

function approverOf(asking: Asking, questions: Questions, answerWithinMs: number): Approver {
  return async (call, decision, signal) => {
    const ask = (form: Question["form"], key = APPROVAL): Promise<unknown> =>
      asking.how === "answer"
        ? questions.ask({ key, form }, signal)
        : asking.send(form, { timeout: answerWithinMs, signal });
    const own = formOf(call);
    if (own !== undefined) return { ...answerOf(await ask(own.form, own.key)), by: "MCP client" };
    const form = approvalForm(call, decision, asking.revision);
    const response = await ask(form);
    if (!wantsWhole(form, response)) return { ...offeredBy(form, approvalOf(response)), by: "MCP client" };
    const whole = approvalForm(call, decision, asking.revision, "whole");
    return { ...offeredBy(whole, approvalOf(await ask(whole))), by: "MCP client" };
  };
}

/** How a client gets the result of a parked call. */
function howToWait(result: ToolResult, { tools }: Toolkit): readonly Content[] {
  if (result.status !== "parked") return [];
  const input = JSON.stringify({ action: "wait", id: result.call });
  return [
    text(tools.has("jobs") ? `Get its result with jobs ${input}.` : "A person sees its result in `handrail threads`."),
  ];
}

function tellProgress(progress: CallProgress, { mcpReq }: ServerContext): void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  progress.tellWith((report) =>
    mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...report } }),
  );
}

/**
 * Returns `structuredContent` only for a tool with an output schema, as the protocol requires. Hosts pass it to the
 * model instead of the text, or both. A file escaped inside JSON is hard to read and twice as long.
 * https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
 */
async function toCallResult(
  result: ToolResult,
  output?: JsonSchema,
  more: readonly Content[] = [],
): Promise<CallToolResult> {
  const { content, isError } = asContent(result);
  const hasSchema = output?.["type"] === "object";
  // Long data was truncated, and then may not fit.
  const isStructured = result.status === "ok" && hasSchema && (await outputFault(output, result.data)) === undefined;
  return {
    content: [...content, ...more].map(blockOf),
    isError: isError || (hasSchema && !isStructured), // only an error may leave out what the schema promises
    ...(isStructured && { structuredContent: wellFormed(result.data) }),
  };
}
