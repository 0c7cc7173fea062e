import type { ActivityEvent, Store } from "./activity.ts";
import type { Backend } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Effect } from "./effect.ts";
import type { Jobs } from "./job.ts";
import type { Approver } from "./policy.ts";
import type { Decision } from "./decision.ts";
import type { ToolResult } from "./result.ts";
import type { Json, JsonSchema } from "./schema.ts";
import type { Tool } from "./tool.ts";

/** Tools by name. A value: make another to change it. */
export type Toolset = ReadonlyMap<string, Tool>;

/** A call as a program makes it. */
export interface CallRequest {
  readonly name: string;
  /** The arguments as the model wrote them: a JSON string, or the value. */
  readonly input: unknown;
  /** The provider's id of the call, if it has one. Default: a new one. */
  readonly id?: CallId;
  /** Default "main". */
  readonly thread?: ThreadId;
}

export interface CallOptions {
  /** Stops the call. */
  readonly signal?: AbortSignal;
  /** Asks a person about this call instead of the toolkit's own approver. */
  readonly approver?: Approver;
  /** Gets this call's events as they happen. What it throws is ignored. */
  readonly onEvent?: (event: ActivityEvent) => void;
}

/** Tools, policy, backend and store, put together. */
export interface Toolkit {
  readonly tools: Toolset;
  readonly backend: Backend;
  readonly store: Store;
  readonly jobs: Pick<Jobs, "list" | "get">;
  /** The tools as a provider wants them; `undefined` when there are none (providers reject an empty array). */
  definitions<F extends DefinitionFormat>(format: F): readonly DefinitionOf[F][] | undefined;
  /** Makes one call. Never rejects: every ending is a `ToolResult`. */
  call(request: CallRequest, options?: CallOptions): Promise<ToolResult>;
  /** What the policy would say of these effects. Nobody is asked and nothing is recorded. */
  judge(effects: readonly Effect[]): Promise<Decision>;
  /** Stops running calls, then the backend, the outputs and the store. Calls made later end as "failed". */
  close(): Promise<void>;
}

export type DefinitionFormat = keyof DefinitionOf;

/** How each receiver wants a tool described. */
export interface DefinitionOf {
  json: {
    readonly name: string;
    readonly title?: string;
    readonly description: string;
    readonly params_hint?: string;
    readonly parameters: JsonSchema;
  };
  openai: {
    readonly type: "function";
    readonly function: { readonly name: string; readonly description: string; readonly parameters: JsonSchema };
  };
  anthropic: { readonly name: string; readonly description: string; readonly input_schema: JsonSchema };
  mcp: {
    readonly name: string;
    readonly title?: string;
    readonly description: string;
    readonly inputSchema: JsonSchema & { readonly type: "object" };
    readonly annotations: { readonly [hint: string]: Json };
  };
}
