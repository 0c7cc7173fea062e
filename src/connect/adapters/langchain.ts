import type { CallUpdate } from "../../core/contract/activity.ts";
import type { CallId } from "../../core/contract/identity.ts";
import type { AnswerOutcome } from "../../core/contract/question.ts";
import type { ParametersSchema } from "../../core/contract/schema.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { asContent, asText } from "../../core/call/result.ts";
import { partText } from "../../core/output/part-text.ts";
import { randomName } from "../../core/util/identifier.ts";
import { type AdapterOptions, type AskPerson, type SdkAnswer, createHand } from "./hand.ts";
import { liveTools } from "./live.ts";

export type { AdapterOptions, AskPerson, SdkAnswer } from "./hand.ts";

/** What a model reads of a result: the content of a `ToolMessage`. */
export type LangChainContent =
  | string
  | ({ type: "text"; text: string } | { type: "image"; data: string; mimeType: string })[];

/** The two arguments of LangChain's function `tool`. */
export interface LangChainTool {
  /** Resolves to the content of the message, and the whole result as its artifact. */
  readonly func: (
    input: unknown,
    config?: {
      readonly toolCall?: { readonly id?: CallId | undefined };
      readonly signal?: AbortSignal;
      readonly writer?: ((chunk: unknown) => void) | null;
    },
  ) => Promise<[LangChainContent, ToolResult]>;
  readonly fields: {
    name: string;
    description: string;
    schema: ParametersSchema;
    responseFormat: "content_and_artifact";
  };
}

/** What a running call reports: a chunk of the stream mode "custom". */
export interface LangChainProgress {
  readonly type: "tool-progress";
  readonly toolCallId: CallId;
  readonly toolName: string;
  /** Texts are raw: escape them for display. */
  readonly update: CallUpdate;
}

/** Adds tools to requests to the model, and to their calls. */
export interface LangChainMiddleware {
  name: string;
  wrapModelCall: <R extends { tools: readonly unknown[] }, A>(request: R, handler: (request: R) => A) => A;
  wrapToolCall: <R extends { toolCall: { name: string }; tool: unknown }, A>(
    request: R,
    handler: (request: R) => A,
  ) => A;
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
  /** The toolkit's tools, live: `tools.map(({ func, fields }) => tool(func, fields))`. An agent copies them. */
  readonly tools: readonly LangChainTool[];
  /**
   * For `createMiddleware`, with LangChain's function `tool`: gives an agent the toolkit's tools of each moment. An
   * agent keeps the list of tools that it was created with, so without it tools that start later are not there.
   */
  readonly middleware: (
    tool: (func: LangChainTool["func"], fields: LangChainTool["fields"]) => object,
  ) => LangChainMiddleware;
  /**
   * For `humanInTheLoopMiddleware({ interruptOn })`, which needs a checkpointer: calls that need a person interrupt the
   * agent, with what they would do. Without the middleware, such calls end as the toolkit's options say.
   */
  readonly interruptOn: { [name: string]: LangChainInterrupt };
  /**
   * Asks a person about a call, unless somebody answers elsewhere first, such as in the console. Resolves to the answer
   * that counts, with the reason of a refusal for the decision's `message`. The signal of `ask` fires when somebody
   * else was first.
   */
  readonly answer: (callId: CallId, ask: AskPerson) => Promise<SdkAnswer>;
  /**
   * Closes the question of a call that a person has rejected. The middleware does not tell tools of a rejection. Decide
   * "approve" all the same: the call does not run, and the model reads the refusal with its reason. "closed": it came
   * too late, and the call runs.
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
  const tools = liveTools(toolkit, () =>
    (toolkit.definitions("openai-responses") ?? []).map(({ name, description, parameters }): LangChainTool => ({
      async func(input, { toolCall, signal, writer } = {}) {
        const id = toolCall?.id ?? randomName(16);
        const onUpdate = (update: CallUpdate) =>
          writer?.({ type: "tool-progress", toolCallId: id, toolName: name, update } satisfies LangChainProgress);
        const result = await hand.run({ id, name, input }, { signal, onUpdate, isAnswered: !unanswered.has(id) });
        return [contentOf(result), result];
      },
      fields: { name, description, schema: parameters, responseFormat: "content_and_artifact" },
    })),
  );
  return {
    tools,
    middleware(tool) {
      const made = new WeakMap<LangChainTool, object>();
      const toolOf = (each: LangChainTool) => {
        const own = made.get(each) ?? tool(each.func, each.fields);
        made.set(each, own);
        return own;
      };
      return {
        name: "handrail",
        wrapModelCall(request, handler) {
          const known = new Set(request.tools.map((each) => (each as { readonly name?: unknown }).name));
          const added = tools.filter(({ fields }) => !known.has(fields.name)).map(toolOf);
          return handler({ ...request, tools: [...request.tools, ...added] });
        },
        wrapToolCall(request, handler) {
          const late = tools.find(({ fields }) => fields.name === request.toolCall.name);
          return handler(
            request.tool !== undefined || late === undefined ? request : { ...request, tool: toolOf(late) },
          );
        },
      };
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
    answer: hand.answer,
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
