import type { Content } from "../../core/contract/content.ts";
import type { CallId } from "../../core/contract/identity.ts";
import type { AnswerOutcome } from "../../core/contract/question.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { asContent } from "../../core/call/result.ts";
import { partText } from "../../core/output/part-text.ts";
import { type AdapterOptions, type AskPerson, type SdkAnswer, createHand } from "./hand.ts";
import { liveTools } from "./live.ts";
import { type CallProgress, type ProgressingResult, withProgress } from "./progress.ts";
import { type DescribedSchema, describedSchema } from "./schema.ts";

export type { AdapterOptions, AskPerson, SdkAnswer } from "./hand.ts";
export type { CallProgress, ProgressingResult } from "./progress.ts";

export interface AiSdkOptions extends AdapterOptions {
  /** Whether tools are defined for strict mode where their schemas allow it. Default true. */
  readonly strict?: boolean;
}

/** A tool of the AI SDK. It fits `ToolSet` of `ai` 6 and 7. */
export interface AiSdkTool {
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: DescribedSchema;
  readonly strict: boolean;
  readonly needsApproval: (
    input: unknown,
    options: { readonly toolCallId: CallId; readonly messages: readonly AiSdkMessage[] },
  ) => Promise<boolean>;
  /** In a stream, the progress of the call comes first, as preliminary results. */
  readonly execute: (
    input: unknown,
    options: { readonly toolCallId: CallId; readonly abortSignal?: AbortSignal | undefined },
  ) => ProgressingResult;
  readonly toModelOutput: (given: { readonly output: ToolResult | CallProgress }) => AiSdkOutput;
}

/** A message of the AI SDK, as far as the adapter reads it. */
interface AiSdkMessage {
  readonly role: string;
  readonly content: unknown;
}

/** What a model reads of a result: `ToolResultOutput` of `ai` 6 and 7. */
export type AiSdkOutput =
  | { type: "error-text"; value: string }
  | {
      type: "content";
      value: ({ type: "text"; text: string } | { type: "image-data"; data: string; mediaType: string })[];
    };

/** A toolkit for `generateText`, `streamText` and agents of the AI SDK. */
export interface AiSdk {
  /** The toolkit's tools, for the option `tools`. Live: it has tools that start later. */
  readonly tools: { [name: string]: AiSdkTool };
  /**
   * For the option `toolApproval` of AI SDK 7, which passes its reason on to people. Without it, and in AI SDK 6, each
   * tool's `needsApproval` decides.
   */
  readonly toolApproval: (given: {
    readonly toolCall: { readonly toolCallId: CallId; readonly toolName: string; readonly input: unknown };
    readonly messages: readonly AiSdkMessage[];
  }) => Promise<{ type: "user-approval"; reason: string } | { type: "not-applicable" }>;
  /**
   * Asks a person about a call, unless somebody answers elsewhere first, such as in the console. Resolves to the answer
   * that counts, for a `tool-approval-response`. The signal of `ask` fires when somebody else was first.
   */
  readonly answer: (toolCallId: CallId, ask: AskPerson) => Promise<SdkAnswer>;
  /**
   * Closes the question of a call that a person has refused. The SDK does not tell its tools of a refusal. Answer the
   * SDK with `approved: true` all the same: the call does not run, and the model reads the refusal with its reason.
   * "closed": it came too late, and the call runs.
   */
  readonly refuse: (toolCallId: CallId, reason?: string) => Promise<AnswerOutcome>;
}

/** Makes a toolkit's tools usable by the AI SDK, versions 6 and 7. */
export function aiSdk(toolkit: Toolkit, { strict = true, ...options }: AiSdkOptions = {}): AiSdk {
  const hand = createHand(toolkit, options, "AI SDK");
  const question = (id: CallId, name: string, input: unknown, messages: readonly AiSdkMessage[]) =>
    hand.question({ id, name, input }, isAskedIn(messages, id));
  const defined = () =>
    (toolkit.definitions("openai-responses", { strict }) ?? []).map(
      ({ name, description, parameters, strict: isStrict }): [string, AiSdkTool] => {
        const title = toolkit.tools.get(name)?.title;
        const tool: AiSdkTool = {
          ...(title !== undefined && { title }),
          description,
          inputSchema: describedSchema(parameters),
          strict: isStrict,
          needsApproval: async (input, { toolCallId, messages }) =>
            (await question(toolCallId, name, input, messages)) !== undefined,
          execute: (input, { toolCallId: id, abortSignal: signal }) =>
            withProgress((onUpdate) => hand.run({ id, name, input }, { signal, onUpdate })),
          toModelOutput: ({ output }) => outputOf(output),
        };
        return [name, tool];
      },
    );
  return {
    tools: liveTools(toolkit, () => Object.fromEntries(defined())),
    async toolApproval({ toolCall: { toolCallId, toolName, input }, messages }) {
      const reason = await question(toolCallId, toolName, input, messages);
      return reason === undefined ? { type: "not-applicable" } : { type: "user-approval", reason };
    },
    answer: hand.answer,
    refuse: hand.refuse,
  };
}

/** Whether messages have a question about a call: whoever sent them may have written it, and its answer. */
function isAskedIn(messages: readonly AiSdkMessage[], id: CallId): boolean {
  return messages.some(({ content }) => Array.isArray(content) && content.some((part) => isRequest(part, id)));
}

function isRequest(part: unknown, id: CallId): boolean {
  const { type, toolCallId } = (part ?? {}) as { readonly type?: unknown; readonly toolCallId?: unknown };
  return type === "tool-approval-request" && toolCallId === id;
}

/** A result as a model of the AI SDK reads it, with its images. A stream that was cut leaves only progress. */
export function outputOf(result: ToolResult | CallProgress): AiSdkOutput {
  if (result.status === "running") return { type: "error-text", value: lost(result) };
  const { content, isError } = asContent(result);
  const value = content.map((part) => partOf(part));
  const [first, ...others] = value;
  if (isError && first?.type === "text" && others.length === 0) return { type: "error-text", value: first.text };
  return { type: "content", value };
}

function lost({ output = "" }: CallProgress): string {
  const seen = output === "" ? "" : `\nIts output: ${output}`;
  return `The result of this call was lost: it is unknown whether it took effect.${seen}`;
}

function partOf(part: Content) {
  return part.type === "image"
    ? ({ type: "image-data", data: part.data, mediaType: part.mimeType } as const)
    : ({ type: "text", text: partText(part) } as const);
}
