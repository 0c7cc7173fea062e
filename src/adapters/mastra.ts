import type { CallId } from "../contract/identity.ts";
import type { ToolResult } from "../contract/result.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { randomName } from "../util/identifier.ts";
import { type AiSdkOutput, outputOf } from "./ai-sdk.ts";
import { type AdapterOptions, createHand } from "./hand.ts";
import { type DescribedSchema, describedSchema } from "./schema.ts";

export type { AdapterOptions } from "./hand.ts";
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
export interface MastraAnswer {
  readonly approved: boolean;
  /** Why the person refuses, for the model. */
  readonly reason?: string;
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
  /** The toolkit's tools at this moment, for `createTool`. */
  readonly tools: readonly MastraTool[];
}

/**
 * Makes a toolkit's tools usable by Mastra 1. A call that needs a person suspends (`MastraQuestion`), and continues
 * with the person's answer (`MastraAnswer`). Mastra's `autoResumeSuspendedTools` would let the model answer: leave it
 * off.
 */
export function mastra(toolkit: Toolkit, { strict = true, ...options }: MastraOptions = {}): Mastra {
  const hand = createHand(toolkit, options, "Mastra");
  return {
    get tools() {
      const defined = toolkit.definitions("openai-responses", { strict }) ?? [];
      return defined.map(({ name, description, parameters, strict: isStrict }): MastraTool => ({
        ...{ id: name, description, inputSchema: describedSchema(parameters), strict: isStrict },
        async execute(input, { abortSignal, agent }) {
          const call = { id: agent?.toolCallId ?? randomName(16), name, input };
          const answer = agent?.resumeData as Partial<MastraAnswer> | undefined;
          const question = agent === undefined || answer?.approved === true ? undefined : await hand.question(call);
          if (question !== undefined && answer?.approved === undefined) {
            await agent?.suspend({ name, input, question } satisfies MastraQuestion);
            return undefined;
          }
          if (question !== undefined) await hand.refuse(call.id, answer?.reason);
          return hand.run(call, abortSignal);
        },
        toModelOutput: (result) => outputOf(result as ToolResult),
      }));
    },
  };
}
