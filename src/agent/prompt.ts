import type {
  LanguageModelV3FilePart,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultPart,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import type { Content } from "../core/contract/content.ts";
import type { CallId } from "../core/contract/identity.ts";
import type { AssistantPart, Message } from "../core/contract/message.ts";
import type { Json } from "../core/contract/schema.ts";
import type { Toolset } from "../core/contract/toolkit.ts";
import { definitions } from "../core/call/definitions.ts";
import { takenPart } from "../core/call/taken-part.ts";
import { partText, partsText } from "../core/output/part-text.ts";
import { bareName } from "../core/util/bare-name.ts";
import { withExactNumbers } from "../core/util/exact-json.ts";
import { isTooDeep } from "../core/util/json.ts";
import { clip } from "../core/util/text.ts";
import { callsOf } from "./conversation.ts";

type ToolMessage = Extract<Message, { role: "tool" }>;
type Calling = Extract<AssistantPart, { type: "call" }>;

/**
 * Anthropic caches what precedes these marks; other providers ignore them.
 * https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
 */
const CACHED: SharedV3ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };

/**
 * Options for single providers. Without `store: false`, OpenAI would store the conversation, and reject a shortened
 * one.
 */
export const PROVIDER_OPTIONS: SharedV3ProviderOptions = { openai: { store: false } };

/**
 * Returns the conversation in the AI SDK's format. It is valid whatever the messages are: every call is followed by
 * exactly one result, ids are unique, and what providers reject (empty texts, malformed arguments, odd names) is
 * replaced. The messages in it are shared with later prompts: do not change them.
 */
export type Prompts = (instructions: string, messages: readonly Message[]) => LanguageModelV3Prompt;

/**
 * Creates the prompts of one conversation. Messages before the last reply are converted once, as long as the
 * conversation only grows.
 */
export function createPrompts(): Prompts {
  let kept = nothingConverted();
  return (instructions, messages) => {
    const isLonger = kept.messages.every((message, index) => message === messages[index]);
    const added = () => messages.slice(kept.messages.length);
    const isSettled = isLonger && !added().some((message) => message.role === "tool" && kept.calls.has(message.call));
    if (!isSettled) kept = nothingConverted();
    const lastReply = messages.findLastIndex(({ role }) => role === "assistant");
    const open = Math.max(kept.messages.length, lastReply);
    convert(messages.slice(kept.messages.length, open), resultsIn(added()), kept);
    const last = { ...nothingConverted(), before: kept };
    convert(added(), resultsIn(added()), last);
    const prompt: LanguageModelV3Prompt = [...kept.prompt, ...last.prompt];
    const end = prompt.pop();
    if (end !== undefined) prompt.push({ ...end, providerOptions: CACHED });
    if (instructions !== "") prompt.unshift({ role: "system", content: instructions, providerOptions: CACHED });
    return prompt;
  };
}

/** Messages, and what was made of them. */
interface Converted {
  readonly messages: Message[];
  readonly prompt: Exclude<LanguageModelV3Message, { role: "system" }>[];
  readonly calls: Set<CallId>;
  /** The ids of calls in the prompt. */
  readonly ids: Set<string>;
  /** What comes before, with which ids must not clash. */
  readonly before?: Converted;
}

function nothingConverted(): Converted {
  return { messages: [], prompt: [], calls: new Set(), ids: new Set() };
}

function resultsIn(messages: readonly Message[]): ReadonlyMap<CallId, ToolMessage> {
  return new Map(messages.flatMap((message) => (message.role === "tool" ? [[message.call, message]] : [])));
}

/** Adds messages. `results` has those of their calls. */
function convert(messages: readonly Message[], results: ReadonlyMap<CallId, ToolMessage>, into: Converted): void {
  for (const message of messages) {
    into.messages.push(message);
    if (message.role === "user") into.prompt.push(userMessage(message.content));
    if (message.role === "assistant") into.prompt.push(...assistantMessages(message.content, results, into));
  }
}

/**
 * Returns the tools in the AI SDK's format; `undefined` when there are none, because providers reject an empty list.
 * Uses Gemini's format for all providers: it is the strictest, and every provider accepts it (`PROVIDER_RULES`).
 */
export function toolsOf(
  tools: Toolset,
  leftOut?: (tool: string, why: string) => void,
): LanguageModelV3FunctionTool[] | undefined {
  return definitions(tools, "gemini", {}, leftOut)?.map(({ name, description, parametersJsonSchema }) => ({
    type: "function",
    name,
    description,
    inputSchema: parametersJsonSchema as LanguageModelV3FunctionTool["inputSchema"],
  }));
}

function userMessage(content: readonly Content[]): Extract<LanguageModelV3Message, { role: "user" }> {
  const parts = content
    .map(takenPart)
    .map((part): LanguageModelV3TextPart | LanguageModelV3FilePart =>
      part.type === "image" ? imagePart(part) : { type: "text", text: partText(part) },
    );
  const kept = parts.filter((part) => part.type !== "text" || part.text.trim() !== "");
  return { role: "user", content: kept.length > 0 ? kept : [{ type: "text", text: "(empty message)" }] };
}

function assistantMessages(
  parts: readonly AssistantPart[],
  results: ReadonlyMap<CallId, ToolMessage>,
  { calls: known, ids: usedIds, before }: Converted,
): Converted["prompt"] {
  const ids = new Map<CallId, { readonly id: string; readonly isProviders: boolean }>();
  for (const { id, providerId } of callsOf(parts)) {
    const isUsed = usedIds.has(providerId) || before?.ids.has(providerId) === true;
    const isProviders = /^[\w-]{1,64}$/.test(providerId) && !isUsed;
    ids.set(id, { id: isProviders ? providerId : id, isProviders });
    usedIds.add(isProviders ? providerId : id);
    known.add(id);
  }
  const idOf = ({ id }: Calling) => ids.get(id) ?? { id, isProviders: false };
  const content = parts.flatMap((part): Extract<LanguageModelV3Message, { role: "assistant" }>["content"] => {
    if (part.type !== "call")
      return part.text.trim() === "" ? [] : [{ ...withOptions(part.provider), ...spoken(part) }];
    const { id, isProviders } = idOf(part);
    return [
      {
        type: "tool-call",
        toolCallId: id,
        toolName: nameOf(part.name),
        input: argumentsOf(part.input),
        // What names a call of the provider is of no use with another id; the signature of a thought is.
        ...withOptions(isProviders ? part.provider : signatureIn(part.provider)),
      },
    ];
  });
  if (!content.some(({ type }) => type !== "reasoning")) return [];
  const calls = callsOf(parts);
  if (calls.length === 0) return [{ role: "assistant", content }];
  const answers = calls.map((call) => resultPart(call, idOf(call).id, results.get(call.id)));
  const images = calls.flatMap(({ id }) => results.get(id)?.content.filter((part) => part.type === "image") ?? []);
  return [
    { role: "assistant", content },
    { role: "tool", content: answers },
    // Not all providers accept images in a tool result. All that accept images accept them from a user.
    ...(images.length > 0 ? [userMessage([{ type: "text", text: "[Images of the results above]" }, ...images])] : []),
  ];
}

function spoken({ type, text }: Exclude<AssistantPart, Calling>) {
  return { type, text };
}

function resultPart(
  call: Calling,
  toolCallId: string,
  message: ToolMessage | undefined,
): LanguageModelV3ToolResultPart {
  const { status, content }: Pick<ToolMessage, "status" | "content"> = message ?? {
    status: "interrupted",
    content: [{ type: "text", text: "The result of this call was not recorded." }],
  };
  const value = partsText(content) || "(no output)";
  const type = status === "ok" ? "text" : "error-text";
  return { type: "tool-result", toolCallId, toolName: nameOf(call.name), output: { type, value } };
}

function imagePart({ data, mimeType }: Extract<Content, { type: "image" }>): LanguageModelV3FilePart {
  return { type: "file", data, mediaType: mimeType };
}

function withOptions(provider: AssistantPart["provider"]): { providerOptions?: SharedV3ProviderOptions } {
  return provider === undefined ? {} : { providerOptions: provider as SharedV3ProviderOptions };
}

function signatureIn(provider: AssistantPart["provider"]): AssistantPart["provider"] {
  const { google } = (provider ?? {}) as { readonly google?: { readonly thoughtSignature?: Json } };
  return google?.thoughtSignature === undefined ? undefined : { google: { thoughtSignature: google.thoughtSignature } };
}

/** Replaces a name that no tool can have: providers reject a conversation that contains one. */
function nameOf(name: string): string {
  const safe = bareName(name)
    .replaceAll(/[^\w-]/g, "_")
    .slice(0, 64);
  return /^[a-zA-Z_]/.test(safe) ? safe : `_${safe.slice(0, 63)}`;
}

/** How much the model is shown of arguments that cannot be used, in UTF-16 units. */
export const SHOWN_ARGUMENTS = 1_000;

/**
 * Returns the arguments as an object, which providers require. Malformed arguments are shown as the model wrote them.
 */
function argumentsOf(input: string): unknown {
  try {
    const value: unknown = JSON.parse(input === "" ? "{}" : withExactNumbers(input));
    if (typeof value === "object" && value !== null && !Array.isArray(value) && !isTooDeep(value)) return value;
  } catch {
    // handled below
  }
  return { malformed_arguments: clip(input, SHOWN_ARGUMENTS) };
}
