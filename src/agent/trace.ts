import type { LanguageModelV3 } from "@ai-sdk/provider";
import { beginSpan } from "../core/util/trace.ts";
import type { TurnEnd, Usage } from "./events.ts";
import type { Reply } from "./reply.ts";

// Names of https://opentelemetry.io/docs/specs/semconv/gen-ai/. No span has what people, models or tools wrote.

/** The conventions' names of providers that the AI SDK names differently. */
const PROVIDERS: { readonly [provider: string]: string } = {
  google: "gcp.gemini",
  mistral: "mistral_ai",
  xai: "x_ai",
};

/** Runs a turn in the span `invoke_agent`. `agent`: the name of a sub-agent. Rejects as the turn does. */
export async function traceTurn(
  model: LanguageModelV3,
  { thread, agent }: { readonly thread: string; readonly agent: string | undefined },
  run: () => Promise<TurnEnd>,
): Promise<TurnEnd> {
  const span = beginSpan(agent === undefined ? "invoke_agent" : `invoke_agent ${agent}`, () => ({
    attributes: {
      ...attributesOf("invoke_agent", model),
      "gen_ai.conversation.id": thread,
      ...(agent !== undefined && { "gen_ai.agent.name": agent }),
    },
  }));
  try {
    const end = await span.within(run);
    span.set({ ...usageAttributes(end.usage), "handrail.turn.reason": end.reason, "handrail.turn.rounds": end.rounds });
    span.end(end.reason === "failed" ? "failed" : undefined);
    return end;
  } catch (error) {
    span.end("failed");
    throw error;
  }
}

/** Makes one request to a model in the span `chat MODEL`; a retry is another request. */
export async function traceRequest(model: LanguageModelV3, make: () => Promise<Reply>): Promise<Reply> {
  const span = beginSpan(`chat ${model.modelId}`, () => ({ kind: "client", attributes: attributesOf("chat", model) }));
  const reply = await span.within(make);
  if (reply.finish !== undefined) span.set({ "gen_ai.response.finish_reasons": [reply.finish] });
  span.set(usageAttributes(reply.usage));
  span.end(reply.error === undefined ? undefined : nameOf(reply.error));
  return reply;
}

function attributesOf(operation: string, { provider, modelId }: LanguageModelV3) {
  const [name = provider] = provider.split(".");
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": PROVIDERS[name] ?? name,
    "gen_ai.request.model": modelId,
  };
}

function usageAttributes({ input, cached, output }: Usage) {
  return {
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.cache_read.input_tokens": cached,
    "gen_ai.usage.output_tokens": output,
  };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "_OTHER";
}
