import type { CallEvent, Store } from "./activity.ts";
import type { Backend } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Effect } from "./effect.ts";
import type { Jobs } from "./job.ts";
import type { Memories } from "./memory.ts";
import type { Approver } from "./policy.ts";
import type { Decision } from "./decision.ts";
import type { ToolResult } from "./result.ts";
import type { ParametersSchema } from "./schema.ts";
import type { Outputs, Tool } from "./tool.ts";

/** Tools by name. A value: make another to change it. */
export type Toolset = ReadonlyMap<string, Tool>;

/** A call as a program makes it. */
export interface CallRequest {
  readonly name: string;
  /** The arguments as the model wrote them: a JSON string, or the value. */
  readonly input: unknown;
  /** The provider's id of the call, if it has one. Default: a new one. */
  readonly id?: CallId;
  /** Default: the toolkit's own, which is "main" unless `with` gave it another. */
  readonly thread?: ThreadId;
  /** The agent's turn that it belongs to: a name that no other turn has. What was recalled in a turn is not repeated in it. */
  readonly turn?: string;
  /** The call during which this one is made: its record names that one. Default: the toolkit's own, or none. */
  readonly parent?: CallId;
}

export interface CallOptions {
  /** Stops the call. */
  readonly signal?: AbortSignal;
  /** Asks a person about this call instead of the toolkit's own approver. */
  readonly approver?: Approver;
  /** Ends the text of a denial where nobody could be asked. Default: the toolkit's own. */
  readonly howToApprove?: string;
  /** Gets this call's events as they happen. What it throws is ignored. */
  readonly onEvent?: (event: CallEvent) => void;
}

/** What a toolkit made by `Toolkit.with` has of its own. What is left out is that of the toolkit it was made from. */
export interface DerivedOptions {
  /** All of its tools: none is added to them. */
  readonly tools?: Iterable<Tool>;
  /** The thread of calls that name none. With another thread it also has its own memory of which files were seen. */
  readonly thread?: ThreadId;
  /** The parent of calls that name none. */
  readonly parent?: CallId;
  /** Asks a person about its calls. */
  readonly approver?: Approver;
}

/** Tools, policy, backend and store, put together. */
export interface Toolkit {
  readonly tools: Toolset;
  readonly backend: Backend;
  readonly store: Store;
  readonly jobs: Pick<Jobs, "list" | "get">;
  readonly memories: Memories;
  /** Opens saved outputs by their id. */
  readonly outputs: Pick<Outputs, "open">;
  /** Returns the value with secrets in its texts masked, as in results and in the record. */
  readonly mask: <T>(value: T) => T;
  /** The tools as a provider wants them, made anew each time; `undefined` when there are none (providers reject an empty array). */
  definitions<F extends DefinitionFormat>(format: F): DefinitionOf[F][] | undefined;
  /** Makes one call. Never rejects: every ending is a `ToolResult`. */
  call(request: CallRequest, options?: CallOptions): Promise<ToolResult>;
  /** Marks the hosts that a person's own words name as known in the thread. `policy.network.fetch` says what follows from it. */
  hear(words: string, thread?: ThreadId): void;
  /** What the policy would say of these effects. Nobody is asked and nothing is recorded. */
  judge(effects: readonly Effect[]): Promise<Decision>;
  /**
   * Returns a toolkit that shares the backend, the policy, grants, limits, jobs, saved outputs and the store with this one. Closing it stops its own
   * running calls and nothing else. Closing this one stops the calls of both.
   *
   * @throws TypeError when two tools have one name, or a tool's schema is not a valid JSON Schema.
   */
  with(options: DerivedOptions): Toolkit;
  /** Stops running calls, then the backend, the outputs and the store. Calls made later end as "failed". */
  close(): Promise<void>;
}

export type DefinitionFormat = keyof DefinitionOf;

/**
 * How each receiver wants a tool described. The types fit those of the official clients: an array of `openai` is `tools` of a chat completion,
 * of `openai-responses` `tools` of a response, of `anthropic` `tools` of a message, of `gemini` `functionDeclarations` of one tool, and of `mcp`
 * `tools` of a tools/list result. `json` is for anything else.
 */
export interface DefinitionOf {
  json: {
    name: string;
    title?: string;
    description: string;
    params_hint: string;
    parameters: ParametersSchema;
  };
  openai: {
    type: "function";
    function: { name: string; description: string; parameters: ParametersSchema };
  };
  "openai-responses": {
    type: "function";
    name: string;
    description: string;
    parameters: ParametersSchema;
    /** The API's default is true, which takes only schemas without optional arguments. */
    strict: false;
  };
  anthropic: { name: string; description: string; input_schema: ParametersSchema };
  gemini: { name: string; description: string; parametersJsonSchema: ParametersSchema };
  mcp: {
    name: string;
    title?: string;
    description: string;
    inputSchema: ParametersSchema;
    /** Only of a tool whose `output` is a schema of an object: MCP takes no other. */
    outputSchema?: ParametersSchema;
    annotations: { readOnlyHint: boolean; destructiveHint?: boolean; openWorldHint: boolean };
  };
}
