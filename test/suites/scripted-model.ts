import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";

/** One reply of a scripted model. */
export interface ScriptedReply {
  readonly reasoning?: string;
  readonly text?: string;
  /** `input`: the arguments, or JSON text as a model writes it. Default id: "call-1", …, over the script. */
  readonly calls?: readonly { readonly name: string; readonly input?: unknown; readonly id?: string }[];
  /** Default: "tool-calls" with calls, else "stop". */
  readonly finish?: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  /** Fails the request before anything is streamed. */
  readonly fails?: Error;
  /** Breaks the stream off with this error. */
  readonly breaksOff?: unknown;
  /** Reported tokens. Default 0. */
  readonly input?: number;
  readonly output?: number;
}

/** A model for tests of agents, with prepared replies. */
export interface ScriptedModel extends LanguageModelV3 {
  /** The requests, in order. */
  readonly requests: readonly LanguageModelV3CallOptions[];
}

/**
 * Makes a model that returns these replies in order; a function makes a reply from the request. After the last one it
 * replies "Done.". Text and arguments are streamed in small pieces.
 */
export function scriptedModel(
  script: readonly (ScriptedReply | ((options: LanguageModelV3CallOptions) => ScriptedReply))[],
): ScriptedModel {
  const requests: LanguageModelV3CallOptions[] = [];
  let calls = 0;
  return {
    specificationVersion: "v3",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    requests,
    doGenerate: () => Promise.reject(new Error("a scripted model only streams")),
    async doStream(options) {
      const next = script[requests.push(structuredCloneOf(options)) - 1] ?? { text: "Done." };
      const reply = typeof next === "function" ? next(options) : next;
      if (reply.fails !== undefined) throw reply.fails;
      const parts = partsOf(reply, () => `call-${++calls}`);
      let at = 0;
      return {
        stream: new ReadableStream({
          pull(controller) {
            const part = parts[at++];
            if (part !== undefined) controller.enqueue(part);
            else if (reply.breaksOff === undefined) controller.close();
            else controller.error(reply.breaksOff);
          },
        }),
      };
    },
  };
}

/** Copies the options, because an agent continues to change the same objects. */
function structuredCloneOf({ abortSignal: _, ...options }: LanguageModelV3CallOptions): LanguageModelV3CallOptions {
  return structuredClone(options);
}

function partsOf(reply: ScriptedReply, newId: () => string): readonly LanguageModelV3StreamPart[] {
  const { reasoning, text, calls = [], breaksOff, input = 0, output = 0 } = reply;
  const finish = reply.finish ?? (calls.length > 0 ? "tool-calls" : "stop");
  return [
    { type: "stream-start", warnings: [] },
    ...streamParts("reasoning", reasoning),
    ...streamParts("text", text),
    ...calls.flatMap(({ name, input: given = {}, id = newId() }): LanguageModelV3StreamPart[] => {
      const written = typeof given === "string" ? given : JSON.stringify(given);
      return [
        { type: "tool-input-start", id, toolName: name },
        ...pieces(written).map((delta) => ({ type: "tool-input-delta", id, delta }) as const),
        { type: "tool-input-end", id },
        { type: "tool-call", toolCallId: id, toolName: name, input: written },
      ];
    }),
    ...(breaksOff === undefined
      ? [
          {
            type: "finish",
            finishReason: { unified: finish, raw: undefined },
            usage: {
              inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
              outputTokens: { total: output, text: undefined, reasoning: undefined },
            },
          } as const,
        ]
      : []),
  ];
}

function streamParts(type: "text" | "reasoning", words: string | undefined): readonly LanguageModelV3StreamPart[] {
  if (words === undefined) return [];
  return [
    { type: `${type}-start`, id: type },
    ...pieces(words).map((delta) => ({ type: `${type}-delta`, id: type, delta }) as const),
    { type: `${type}-end`, id: type },
  ];
}

function pieces(text: string): readonly string[] {
  return text.match(/[^]{1,12}/g) ?? [];
}
