import type { CallUpdate } from "../../core/contract/activity.ts";
import type { CallId } from "../../core/contract/identity.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { randomName } from "../../core/util/identifier.ts";
import { type AiSdkOutput, outputOf } from "./ai-sdk.ts";
import { type AdapterOptions, type AskPerson, type SdkAnswer, createHand } from "./hand.ts";
import { liveTools } from "./live.ts";
import { type DescribedSchema, describedSchema } from "./schema.ts";

export type { AdapterOptions, AskPerson, SdkAnswer } from "./hand.ts";
export type { AiSdkOutput } from "./ai-sdk.ts";

export interface MastraOptions extends AdapterOptions {
  /** Whether tools are defined for strict mode where their schemas allow it. Default true. */
  readonly strict?: boolean;
}

/** What a suspended call shows: `suspendPayload` of the chunk `tool-call-suspended`. */
export interface MastraQuestion {
  readonly name: string;
  readonly input: unknown;
  /** What the call would do. Raw: escape it for display. */
  readonly question: string;
}

/** A person's answer, for `agent.resumeStream(answer, { runId, toolCallId })`. */
export type MastraAnswer = SdkAnswer;

/** What a running call reports: `output` of a chunk `tool-output`. */
export interface MastraProgress {
  readonly type: "tool-progress";
  readonly toolCallId: CallId;
  readonly toolName: string;
  /** Texts are raw: escape them for display. */
  readonly update: CallUpdate;
}

/** The options of Mastra's `createTool`. */
export interface MastraTool {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: DescribedSchema;
  readonly strict: boolean;
  readonly execute: (
    input: unknown,
    context: {
      readonly abortSignal?: AbortSignal;
      // Its type is a class in the SDK.
      readonly writer?: { write(data: MastraProgress): Promise<void> };
      readonly agent?: {
        readonly toolCallId: CallId;
        // Its type depends on the schemas that a tool has for it.
        // oxlint-disable-next-line typescript/no-explicit-any
        readonly resumeData?: any;
        // oxlint-disable-next-line typescript/no-explicit-any
        readonly suspend: (payload: any) => Promise<void>;
      };
    },
  ) => Promise<ToolResult | undefined>;
  readonly toModelOutput: (result: unknown) => AiSdkOutput;
}

/** A toolkit for agents of Mastra. */
export interface Mastra {
  /** The toolkit's tools, for `createTool`. Live: it has tools that start later. */
  readonly tools: readonly MastraTool[];
  /**
   * Asks a person about a suspended call, unless somebody answers elsewhere first, such as in the console. Resolves to
   * the answer that counts. The signal of `ask` fires when somebody else was first.
   */
  readonly answer: (toolCallId: CallId, ask: AskPerson) => Promise<MastraAnswer>;
}

/**
 * Makes a toolkit's tools usable by Mastra 1. A call that needs a person suspends (`MastraQuestion`), and continues
 * with the person's answer (`MastraAnswer`). Mastra's `autoResumeSuspendedTools` would let the model answer: leave it
 * off.
 */
export function mastra(toolkit: Toolkit, { strict = true, ...options }: MastraOptions = {}): Mastra {
  const hand = createHand(toolkit, options, "Mastra");
  return {
    tools: liveTools(toolkit, () =>
      (toolkit.definitions("openai-responses", { strict }) ?? []).map(
        ({ name, description, parameters, strict: isStrict }): MastraTool => ({
          ...{ id: name, description, inputSchema: describedSchema(parameters), strict: isStrict },
          async execute(input, { abortSignal: signal, agent, writer }) {
            const id = agent?.toolCallId ?? randomName(16);
            const call = { id, name, input };
            const answer = agent?.resumeData as Partial<MastraAnswer> | undefined;
            const question = agent === undefined || answer?.approved === true ? undefined : await hand.question(call);
            if (question !== undefined && answer?.approved === undefined) {
              await agent?.suspend({ name, input, question } satisfies MastraQuestion);
              return undefined;
            }
            if (question !== undefined) await hand.refuse(call.id, answer?.reason);
            const onUpdate = (update: CallUpdate) =>
              void writer
                ?.write({ type: "tool-progress", toolCallId: id, toolName: name, update })
                .catch(() => undefined);
            return hand.run(call, { signal, onUpdate });
          },
          toModelOutput: (result) => outputOf(result as ToolResult),
        }),
      ),
    ),
    answer: hand.answer,
  };
}
