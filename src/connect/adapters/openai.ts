import type { Content } from "../../core/contract/content.ts";
import type { CallId } from "../../core/contract/identity.ts";
import type { AnswerOutcome } from "../../core/contract/question.ts";
import type { ParametersSchema } from "../../core/contract/schema.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { DefinitionOf, Toolkit } from "../../core/contract/toolkit.ts";
import { asContent, asText } from "../../core/call/result.ts";
import { partText } from "../../core/output/part-text.ts";
import { type AdapterOptions, type AskPerson, type SdkAnswer, createHand } from "./hand.ts";
import { liveTools } from "./live.ts";

export type { AdapterOptions, AskPerson, SdkAnswer } from "./hand.ts";

export interface OpenAiOptions extends AdapterOptions {
  /** Whether tools are defined for strict mode where their schemas allow it. Default true. */
  readonly strict?: boolean;
}

/** What a model reads of a result, as `@openai/agents` takes it from a tool. */
export type OpenAiAgentOutput =
  | string
  | ({ type: "text"; text: string } | { type: "image"; image: { data: string; mediaType: string } })[];

/** A function tool of `@openai/agents`. It fits `FunctionTool`. */
export interface OpenAiAgentTool {
  type: "function";
  name: string;
  description: string;
  parameters: {
    type: "object";
    properties: ParametersSchema["properties"];
    required: string[];
    // The SDK's type has true or false here; a schema without the keyword accepts any keys, as with true.
    additionalProperties: true;
  };
  strict: boolean;
  needsApproval: (context: unknown, input: unknown, callId?: CallId) => Promise<boolean>;
  invoke: (
    context: unknown,
    input: string,
    details?: { toolCall?: { callId: CallId }; signal?: AbortSignal },
  ) => Promise<OpenAiAgentOutput>;
  isEnabled: () => Promise<boolean>;
}

/** A toolkit for agents of `@openai/agents`. */
export interface OpenAiAgents {
  /** The toolkit's tools, for the option `tools` of an agent. Live: it has tools that start later. */
  readonly tools: OpenAiAgentTool[];
  /**
   * Asks a person about an interruption, unless somebody answers elsewhere first, such as in the console. Resolves to
   * the answer that counts, with the reason of a refusal for `state.reject(interruption, { message: reason })`. The
   * signal of `ask` fires when somebody else was first.
   */
  readonly answer: (callId: CallId, ask: AskPerson) => Promise<SdkAnswer>;
  /**
   * Closes the question of a call that a person has refused. The SDK does not tell its tools. `state.approve` the call
   * all the same: it does not run, and the model reads the refusal with its reason. "closed": it came too late, and the
   * call runs.
   */
  readonly refuse: (callId: CallId, reason?: string) => Promise<AnswerOutcome>;
}

/**
 * Makes a toolkit's tools usable by `@openai/agents` 0.20: calls that need a person become `interruptions` of the run,
 * which `state.approve` and `state.reject` decide. An approved call runs once, also when its state is resumed twice.
 */
export function openAiAgents(toolkit: Toolkit, { strict = true, ...options }: OpenAiOptions = {}): OpenAiAgents {
  const hand = createHand(toolkit, options, "OpenAI Agents");
  return {
    tools: liveTools(toolkit, () =>
      (toolkit.definitions("openai-responses", { strict }) ?? []).map(
        ({ name, description, parameters, strict: isStrict }): OpenAiAgentTool => ({
          ...{ type: "function", name, description, strict: isStrict },
          parameters: parameters as unknown as OpenAiAgentTool["parameters"],
          async needsApproval(context, input, id) {
            if (id === undefined) return false;
            return (await hand.question({ id, name, input }, isDecidedIn(context, name, id))) !== undefined;
          },
          async invoke(_, input, { toolCall, signal } = {}) {
            if (toolCall === undefined) return agentOutput(await toolkit.call({ name, input }));
            return agentOutput(await hand.run({ id: toolCall.callId, name, input }, { signal }));
          },
          isEnabled: async () => toolkit.tools.has(name),
        }),
      ),
    ),
    answer: hand.answer,
    refuse: hand.refuse,
  };
}

/** Whether a run's state has an answer about a call. The state may come from a client, or approve a tool for ever. */
function isDecidedIn(context: unknown, toolName: string, callId: CallId): boolean {
  const { isToolApproved } = (context ?? {}) as { readonly isToolApproved?: unknown };
  return typeof isToolApproved === "function" && isToolApproved.call(context, { toolName, callId }) !== undefined;
}

function agentOutput(result: ToolResult): OpenAiAgentOutput {
  const { content } = asContent(result);
  if (content.every(({ type }) => type !== "image")) return asText(result);
  return content.map((part) =>
    part.type === "image"
      ? { type: "image", image: { data: part.data, mediaType: part.mimeType } }
      : { type: "text", text: partText(part) },
  );
}

/** A call in a chat completion or a response of the client `openai`. */
export type OpenAiCall =
  | { type: "function"; id: string; function: { name: string; arguments: string } }
  | { type: "function_call"; call_id: string; name: string; arguments: string }
  | { type: "custom"; id: string; custom: { name: string; input: string } }
  | { type: "custom_tool_call"; call_id: string; name: string; input: string };

type OpenAiChatMessage =
  | { role: "tool"; tool_call_id: string; content: string }
  | {
      role: "user";
      content: ({ type: "text"; text: string } | { type: "image_url"; image_url: { url: string } })[];
    };

interface OpenAiOutput<Type> {
  type: Type;
  call_id: string;
  output:
    | string
    | ({ type: "input_text"; text: string } | { type: "input_image"; image_url: string; detail: "auto" })[];
}

type OpenAiResponseOutput = OpenAiOutput<"function_call_output"> | OpenAiOutput<"custom_tool_call_output">;

/** A toolkit for the client `openai`. Calls that need a person are asked about by the toolkit, or parked. */
export interface OpenAiClient {
  /** `tools` of a chat completion; `undefined` without tools. */
  readonly chatTools: DefinitionOf["openai"][] | undefined;
  /** `tools` of a response; `undefined` without tools. */
  readonly tools: DefinitionOf["openai-responses"][] | undefined;
  /**
   * Makes the calls of an assistant's message, one after another. Resolves to the messages that follow it: a result for
   * each call and, because a result of a tool takes only text there, one message of the user with their images.
   */
  readonly chatResults: (
    message: { tool_calls?: readonly ({ type: string } | OpenAiCall)[] | undefined },
    signal?: AbortSignal,
  ) => Promise<OpenAiChatMessage[]>;
  /** Makes the calls of a response, one after another. Resolves to their results for the next request, with images. */
  readonly results: (
    response: { output: readonly ({ type: string } | OpenAiCall)[] },
    signal?: AbortSignal,
  ) => Promise<OpenAiResponseOutput[]>;
}

/** Makes a toolkit's tools usable by the client `openai`, for chat completions and for responses. */
export function openAi(
  toolkit: Toolkit,
  { strict = true, thread }: Omit<OpenAiOptions, "approvals"> = {},
): OpenAiClient {
  const hand = createHand(toolkit, { approvals: "toolkit", ...(thread !== undefined && { thread }) }, "OpenAI");
  return {
    get chatTools() {
      return toolkit.definitions("openai", { strict });
    },
    get tools() {
      return toolkit.definitions("openai-responses", { strict });
    },
    async chatResults({ tool_calls: calls = [] }, signal) {
      const messages: OpenAiChatMessage[] = [];
      const images: ImagePart[] = [];
      for (const call of calls) {
        const asked = "function" in call ? call.function : "custom" in call ? call.custom : undefined;
        if (asked === undefined || !("id" in call)) continue;
        const { id } = call;
        const input = "arguments" in asked ? asked.arguments : asked.input;
        const result = await hand.run({ id, name: asked.name, input }, { signal });
        messages.push({ role: "tool", tool_call_id: id, content: asText(result) });
        images.push(...asContent(result).content.filter((part) => part.type === "image"));
      }
      if (images.length === 0) return messages;
      const shown = images.map((image) => ({ type: "image_url" as const, image_url: { url: dataUrl(image) } }));
      const content = [{ type: "text" as const, text: "[Images of the results above]" }, ...shown];
      return [...messages, { role: "user", content }];
    },
    async results({ output }, signal) {
      const results: OpenAiResponseOutput[] = [];
      for (const call of output) {
        if (!("call_id" in call && "name" in call)) continue;
        const { call_id, name } = call;
        const isCustom = call.type === "custom_tool_call";
        if (!isCustom && call.type !== "function_call") continue;
        const input = isCustom ? call.input : call.arguments;
        const result = await hand.run({ id: call_id, name, input }, { signal });
        const type = isCustom ? "custom_tool_call_output" : "function_call_output";
        results.push({ type, call_id, output: responseOutput(result) });
      }
      return results;
    },
  };
}

type ImagePart = Extract<Content, { type: "image" }>;

function responseOutput(result: ToolResult): OpenAiResponseOutput["output"] {
  const { content } = asContent(result);
  if (content.every(({ type }) => type !== "image")) return asText(result);
  return content.map((part) =>
    part.type === "image"
      ? { type: "input_image", image_url: dataUrl(part), detail: "auto" }
      : { type: "input_text", text: partText(part) },
  );
}

function dataUrl({ mimeType, data }: ImagePart): string {
  return `data:${mimeType};base64,${data}`;
}
