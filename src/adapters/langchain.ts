import type { CallId } from "../contract/identity.ts";
import type { AnswerOutcome } from "../contract/question.ts";
import type { ParametersSchema } from "../contract/schema.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { asContent, asText } from "../engine/result.ts";
import { partText } from "../output/part-text.ts";
import { randomName } from "../util/identifier.ts";
import { type AdapterOptions, createHand } from "./hand.ts";

export type { AdapterOptions } from "./hand.ts";

/** What a model reads of a result: the content of a `ToolMessage`. */
export type LangChainContent =
  | string
  | ({ type: "text"; text: string } | { type: "image"; data: string; mimeType: string })[];

/** The two arguments of LangChain's function `tool`. */
export interface LangChainTool {
  /** Resolves to the content of the message, and the whole result as its artifact. */
  readonly func: (
    input: unknown,
    config?: { readonly toolCall?: { readonly id?: CallId | undefined }; readonly signal?: AbortSignal },
  ) => Promise<[LangChainContent, ToolResult]>;
  readonly fields: {
    name: string;
    description: string;
    schema: ParametersSchema;
    responseFormat: "content_and_artifact";
  };
}

/** A call, as LangChain's middleware has it. */
interface MiddlewareCall {
  readonly id?: CallId | undefined;
  readonly name: string;
  readonly args: unknown;
}

/** When a tool's calls interrupt the agent. */
export interface LangChainInterrupt {
  allowedDecisions: ("approve" | "reject")[];
  when: (request: { readonly toolCall: MiddlewareCall }) => Promise<boolean>;
  description: (toolCall: MiddlewareCall) => string;
}

/** A toolkit for agents of LangChain. */
export interface LangChain {
  /** The toolkit's tools at this moment: `tools.map(({ func, fields }) => tool(func, fields))`. */
  readonly tools: readonly LangChainTool[];
  /**
   * For `humanInTheLoopMiddleware({ interruptOn })`, which needs a checkpointer: calls that need a person interrupt the
   * agent, with what they would do. Without the middleware, such calls end as the toolkit's options say.
   */
  readonly interruptOn: { [name: string]: LangChainInterrupt };
  /**
   * Closes the question of a call that a person has rejected. The middleware does not tell tools of a rejection.
   * "closed": it came too late, and the call runs; then approve it, so that the model reads its result.
   */
  readonly refuse: (callId: CallId, reason?: string) => Promise<AnswerOutcome>;
}

/** Makes a toolkit's tools usable by LangChain 1. */
export function langChain(toolkit: Toolkit, options: AdapterOptions = {}): LangChain {
  const hand = createHand(toolkit, options, "LangChain");
  /** What the person is shown of each call that interrupts. */
  const shown = new Map<CallId, string>();
  /**
   * Calls that were asked about here, and not looked at since: the middleware looks again when it continues with an
   * answer. One that is made before belongs to a checkpoint whose question another store has, or none.
   */
  const unanswered = new Set<CallId>();
  return {
    get tools() {
      return (toolkit.definitions("openai-responses") ?? []).map(
        ({ name, description, parameters }): LangChainTool => ({
          async func(input, { toolCall, signal } = {}) {
            const id = toolCall?.id ?? randomName(16);
            const result = await hand.run({ id, name, input }, signal, !unanswered.has(id));
            return [contentOf(result), result];
          },
          fields: { name, description, schema: parameters, responseFormat: "content_and_artifact" },
        }),
      );
    },
    get interruptOn() {
      const interrupt: LangChainInterrupt = {
        allowedDecisions: ["approve", "reject"], // changed arguments would be another call
        async when({ toolCall: { id, name, args } }) {
          const question = id === undefined ? undefined : await hand.question({ id, name, input: args });
          if (id === undefined || question === undefined) return false;
          if (question === "") unanswered.delete(id);
          else {
            shown.set(id, question);
            unanswered.add(id);
          }
          return true;
        },
        description: ({ id = "", name }) => shown.get(id) ?? `Call: ${name}`,
      };
      return Object.fromEntries([...toolkit.tools.keys()].map((name) => [name, interrupt]));
    },
    refuse: hand.refuse,
  };
}

function contentOf(result: ToolResult): LangChainContent {
  const { content } = asContent(result);
  if (content.every(({ type }) => type !== "image")) return asText(result);
  return content.map((part) =>
    part.type === "image"
      ? { type: "image", data: part.data, mimeType: part.mimeType }
      : { type: "text", text: partText(part) },
  );
}
