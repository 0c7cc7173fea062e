import type { LanguageModelV3, LanguageModelV3CallOptions } from "@ai-sdk/provider";
import { pause } from "../core/util/abort.ts";
import { wellFormed } from "../core/util/well-formed.ts";
import type { AgentEvent } from "./events.ts";
import { type ModelProblem, problemOf } from "./models/problem.ts";
import { hasPictures } from "./pictures.ts";
import { type Reply, readReply } from "./reply.ts";
import { traceRequest } from "./trace.ts";

/** The longest time to wait before a retry. If the provider asks for more, the request fails. Milliseconds. */
const LONGEST_WAIT_MS = 60_000;

export interface RequestOptions {
  readonly signal: AbortSignal;
  readonly emit: (event: AgentEvent) => void;
  /** The pause before the first retry, in milliseconds. Doubles with each retry. */
  readonly retryMs: number;
}

/** A reply. With a `problem`, the request failed for good, and the reply is what arrived before. */
export interface ModelReply extends Reply {
  readonly problem?: ModelProblem;
}

/**
 * Asks the model. Retries with growing pauses if a retry may help. Emits an event for each retry. When the signal
 * fires, returns what has arrived so far, without a problem. Never rejects.
 */
export async function request(
  model: LanguageModelV3,
  options: Omit<LanguageModelV3CallOptions, "abortSignal">,
  { signal, emit, retryMs }: RequestOptions,
): Promise<ModelReply> {
  for (let attempt = 1; ; attempt++) {
    const given = { ...wellFormed(options), abortSignal: signal };
    const reply = await traceRequest(model, () => readReply(model, given, signal, emit));
    if (reply.error === undefined || signal.aborted) return reply;
    const problem = problemOf(reply.error, model, { hasPictures: hasPictures(options.prompt) });
    const backOff = retryMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
    const waitMs = Math.round(Math.max(problem.retryAfterMs ?? 0, Math.min(backOff, LONGEST_WAIT_MS)));
    if (waitMs > LONGEST_WAIT_MS) {
      const message = `${problem.message} Try again in ${Math.ceil(waitMs / 1_000)} s.`;
      return { ...reply, problem: { ...problem, message } };
    }
    if (attempt > problem.retries) return { ...reply, problem };
    emit({ type: "retry", attempt, waitMs, message: problem.message });
    await pause(waitMs, signal);
    if (signal.aborted) return { ...reply, parts: [] };
  }
}
