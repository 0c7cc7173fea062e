import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider";
import type { AssistantPart } from "../core/contract/message.ts";
import type { Json } from "../core/contract/schema.ts";
import { untilAborted } from "../core/util/abort.ts";
import { newId } from "../core/util/identifier.ts";
import { type AgentEvent, NO_USAGE, type Usage } from "./events.ts";

/** A reply of the model, complete or not. */
export interface Reply {
  /** Unique. The pieces that were emitted have it too. */
  readonly id: string;
  readonly parts: readonly AssistantPart[];
  readonly usage: Usage;
  /** Why the reply ended: "length" at the output limit. `undefined` if it broke off. */
  readonly finish: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other" | undefined;
  /** Why the reply broke off. */
  readonly error: unknown;
}

/** A stream counts as broken off after this time without data. Milliseconds. */
const SILENCE_MS = 300_000;

type Calling = Extract<AssistantPart, { type: "call" }>;
type Saying = { type: "text" | "reasoning"; text: string; provider?: Json };

/**
 * Makes one request and reads the streamed reply. Text goes to `emit` in pieces. Calls are returned with the reply.
 * Never rejects: a failure is the reply's `error`, together with what arrived before it.
 */
export async function readReply(
  model: LanguageModelV3,
  options: LanguageModelV3CallOptions,
  signal: AbortSignal,
  emit: (event: AgentEvent) => void,
): Promise<Reply> {
  const reply = newId();
  const parts: (Saying | Calling)[] = [];
  const open = new Map<string, Saying>();
  let usage = NO_USAGE;
  let finish: Reply["finish"];
  let error: unknown;

  const begin = (type: Saying["type"], id: string, provider: SharedV3ProviderMetadata | undefined): Saying => {
    const part: Saying = { type, text: "", ...opaque(provider) };
    parts.push(part);
    open.set(`${type} ${id}`, part);
    return part;
  };

  const take = (part: LanguageModelV3StreamPart) => {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        begin(part.type === "text-start" ? "text" : "reasoning", part.id, part.providerMetadata);
        return;
      case "text-delta":
      case "reasoning-delta": {
        const type = part.type === "text-delta" ? "text" : "reasoning";
        const block = open.get(`${type} ${part.id}`) ?? begin(type, part.id, undefined);
        Object.assign(block, opaque(part.providerMetadata));
        block.text += part.delta;
        if (part.delta !== "") emit({ type, text: part.delta, reply });
        return;
      }
      case "text-end":
      case "reasoning-end": {
        const block = open.get(`${part.type === "text-end" ? "text" : "reasoning"} ${part.id}`);
        if (block !== undefined) Object.assign(block, opaque(part.providerMetadata));
        return;
      }
      case "tool-call": {
        const { toolCallId: providerId, toolName: name, input } = part;
        const call: Calling = { type: "call", id: newId(), providerId, name, input, ...opaque(part.providerMetadata) };
        parts.push(call);
        return;
      }
      case "finish":
        finish = part.finishReason.unified;
        usage = usageOf(part.usage);
        return;
      case "error":
        error ??= part.error ?? new Error("the stream reported an error");
        return;
      default: // pieces of arguments, which arrive whole with the call; metadata; and what was not requested
    }
  };

  try {
    const { stream } = await untilAborted(Promise.resolve(model.doStream(options)), signal);
    const reader = stream.getReader();
    try {
      for (;;) {
        const { done, value } = await untilAborted(withinSilence(reader.read()), signal);
        if (done) break;
        take(value);
      }
    } finally {
      void reader.cancel().catch(() => undefined);
    }
    if (finish === undefined) error ??= new Error("the stream ended before the reply was complete");
    if (finish === "error") error ??= new Error("the provider reported an error in the middle of the reply");
  } catch (thrown) {
    error = thrown;
  }
  return { id: reply, parts, usage, finish: error === undefined ? finish : undefined, error };
}

async function withinSilence<T>(read: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no data arrived for ${SILENCE_MS / 1_000} s`)), SILENCE_MS);
  });
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function opaque(metadata: SharedV3ProviderMetadata | undefined): { provider?: Json } {
  return metadata === undefined ? {} : { provider: withGoogleSignature(metadata) };
}

/**
 * Gemini refuses a conversation whose calls lack their signatures:
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 *
 * The package for the OpenAI format reports them under the provider's name, and sends those that it gets as Google's.
 */
function withGoogleSignature(metadata: SharedV3ProviderMetadata): SharedV3ProviderMetadata {
  const [name, own] = Object.entries(metadata).find(([, each]) => each["thoughtSignature"] !== undefined) ?? [];
  if (name === undefined || own === undefined || name === "google") return metadata;
  const { thoughtSignature, ...rest } = own;
  return { ...metadata, [name]: rest, google: { ...metadata["google"], thoughtSignature } };
}

function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): Usage {
  return {
    input: inputTokens.total ?? 0,
    cached: inputTokens.cacheRead ?? 0,
    output: outputTokens.total ?? 0,
  };
}
