import type { CallEvent, Store } from "./activity.ts";
import type { Backend } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Effect } from "./effect.ts";
import type { LivePages } from "./live-page.ts";
import type { Jobs } from "./job.ts";
import type { Memories } from "./memory.ts";
import type { Notice } from "./notice.ts";
import type { ParkedCall } from "./parked.ts";
import type { CheckedCall } from "./call.ts";
import type { Hooks } from "./hooks.ts";
import type { Approver } from "./policy.ts";
import type { Decision } from "./decision.ts";
import type { ToolResult } from "./result.ts";
import type { RunnerSchedules } from "./schedule.ts";
import type { ParametersSchema } from "./schema.ts";
import type { Outputs, Tool } from "./tool.ts";

/** Tools by name. Immutable: make another one to change it. */
export type Toolset = ReadonlyMap<string, Tool>;

/** A call that a program makes. */
export interface CallRequest {
  readonly name: string;
  /** The arguments as the model wrote them: a JSON string, or the value. */
  readonly input: unknown;
  /** The provider's id of the call, if any. Default: a new id. */
  readonly id?: CallId;
  /** Default: the toolkit's thread, which is "main" unless `with` chose another. */
  readonly thread?: ThreadId;
  /** The agent's turn: a name that no other turn has. A memory that was recalled in a turn is not repeated in it. */
  readonly turn?: string;
  /** The call that makes this one, for the record. Default: the toolkit's parent, or none. */
  readonly parent?: CallId;
  /** The sub-agent that makes the call; a question about the call shows it. Default: the toolkit's agent, or none. */
  readonly agent?: string;
  /** The W3C `traceparent` of whatever makes the call. Its span is below it. Default: the active span, if any. */
  readonly trace?: string;
}

export interface CallOptions {
  /** Stops the call. */
  readonly signal?: AbortSignal;
  /** Asks a person about this call. Default: the toolkit's approver. */
  readonly approver?: Approver;
  /**
   * True parks the call at once when a person must approve it, and asks no approver. False never parks it. Default: as
   * the toolkit does.
   */
  readonly park?: boolean;
  /** The last sentence of a denial when nobody could be asked. Default: the toolkit's. */
  readonly howToApprove?: string;
  /** Called with the call's events as they happen. Exceptions are ignored. */
  readonly onEvent?: (event: CallEvent) => void;
}

/** What would come of a call. */
export type Preview =
  /** It runs, and nobody is asked. */
  | { readonly status: "runs" }
  /** A person must approve it first. `call` is what the person is to be shown. */
  | { readonly status: "asks"; readonly call: CheckedCall; readonly decision: Decision }
  /** It ends without running: it does not fit a tool, or is denied. */
  | { readonly status: "ends"; readonly result: ToolResult };

/** Options of `Toolkit.with`. Default for each: that of the original toolkit. */
export interface DerivedOptions {
  /**
   * The toolkit's tools: nothing is added to them. A function gets the original toolkit's tools, again whenever these
   * change, and returns the new tools.
   */
  readonly tools?: Iterable<Tool> | ((tools: Toolset) => Iterable<Tool>);
  /**
   * The default thread of calls. Another thread also gets its own memory of seen files. With a `parent` it belongs to
   * the conversation of the original thread: what that has seen is known to it, for `policy.network.fetch`.
   */
  readonly thread?: ThreadId;
  /** The default parent of calls. */
  readonly parent?: CallId;
  /** The default agent of calls. */
  readonly agent?: string;
  /** Asks a person about calls. */
  readonly approver?: Approver;
  /**
   * Makes its calls without the approver and the session's grants: what needs a person and has no permanent grant is
   * parked at once, unless `isApproved` resolves to true. Toolkits derived from it are the same.
   */
  readonly unattended?: { readonly isApproved: (call: CheckedCall) => Promise<boolean> };
}

/** Tools, policy, backend and store, combined. */
export interface Toolkit {
  /** The current tools. When tools of sources (`ToolSource`) change, this becomes another value. */
  readonly tools: Toolset;
  /** Resolves when every source has started or failed; at once without sources. Never rejects. */
  readonly ready: Promise<void>;
  /** The names of the sources that are still starting. */
  readonly starting: readonly string[];
  /** Calls the listener after each change of `tools`. Returns a function that unsubscribes. */
  onToolsChanged(listener: () => void): () => void;
  readonly backend: Backend;
  readonly store: Store;
  readonly jobs: Pick<Jobs, "list" | "get" | "handOver">;
  readonly memories: Memories;
  readonly schedules: RunnerSchedules;
  /** Passes a notice, with secrets masked, to the option `onWaiting`. For people who may be elsewhere. */
  notify(notice: Notice): void;
  /** What the browsers of threads show, for people who watch and use it. */
  readonly pages: LivePages;
  /** The user's programs at stages of a turn; `undefined` without any. */
  readonly hooks: Hooks | undefined;
  /** Opens saved outputs by id. With `openMasked`, each secret in a range that is read is replaced by as many bytes. */
  readonly outputs: Pick<Outputs, "open"> & { readonly openMasked: Outputs["open"] };
  /** Masks secrets in all texts of a value, as in results and records. */
  readonly mask: <T>(value: T) => T;
  /**
   * Returns the tool definitions in a provider's format, as new objects. `undefined` without tools, since providers
   * reject an empty array.
   */
  definitions<F extends DefinitionFormat>(format: F, options?: DefinitionOptions<F>): DefinitionOf[F][] | undefined;
  /**
   * Returns what would come of a call if it were made now: checks and judges it. Runs nothing, asks nobody and records
   * nothing. Never rejects. The call itself is judged again.
   */
  preview(request: CallRequest): Promise<Preview>;
  /** Makes one call. Never rejects: every ending is a `ToolResult`. */
  call(request: CallRequest, options?: CallOptions): Promise<ToolResult>;
  /** The parked calls of the store that belong to this backend and working directory, oldest first. */
  parked(): Promise<readonly ParkedCall[]>;
  /**
   * Makes a parked call that was approved, unless another process has claimed it. The call is judged again, and parked
   * again if what would happen is not what was approved. Resolves to the call's result, also if the call ended before,
   * and to "parked" while the call waits. Given the row instead of the id, makes a call that this process has claimed.
   * Never rejects.
   */
  resume(call: CallId | ParkedCall, options?: Omit<CallOptions, "park">): Promise<ToolResult>;
  /**
   * Takes a person's message. For `policy.network.fetch`, the thread then knows its URLs and hosts. Undo begins to keep
   * the first state of the workspace. Never pass text that a model wrote.
   */
  hear(words: string, thread?: ThreadId): void;
  /** Returns the policy's decision on these effects. Asks nobody and records nothing. */
  judge(effects: readonly Effect[]): Promise<Decision>;
  /**
   * Returns a toolkit that shares the backend, policy, grants, limits, jobs, saved outputs and store with this one.
   * Closing it stops only its own running calls. Closing this one stops the calls of both.
   *
   * @throws TypeError when two tools have the same name, or a tool's schema is not a valid JSON Schema.
   */
  with(options: DerivedOptions): Toolkit;
  /** Stops running calls, then closes the backend, the outputs and the store. Later calls end as "failed". */
  close(): Promise<void>;
}

export type DefinitionFormat = keyof DefinitionOf;

export interface DefinitionOptions<F extends DefinitionFormat> {
  /**
   * True: defines tools for the strict mode of OpenAI and Anthropic, in which arguments always have the form of the
   * schema. Optional arguments become nullable and required: a call with `null` for such an argument does not give it.
   * A tool whose schema cannot be written so, such as one that takes any keys, is defined without strict mode. Default
   * false.
   */
  readonly strict?: F extends "openai" | "openai-responses" | "anthropic" ? boolean : false;
}

/**
 * The formats of tool definitions. The types fit those of the official clients: an array of `openai` is `tools` of a
 * chat completion, of `openai-responses` `tools` of a response, of `anthropic` `tools` of a message, of `gemini`
 * `functionDeclarations` of one tool, and of `mcp` `tools` of a tools/list result. `json` is for any other client.
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
    function: { name: string; description: string; parameters: ParametersSchema; strict?: true };
  };
  "openai-responses": {
    type: "function";
    name: string;
    description: string;
    parameters: ParametersSchema;
    /** The API's default is true, which does not allow optional arguments. */
    strict: boolean;
  };
  anthropic: { name: string; description: string; input_schema: ParametersSchema; strict?: true };
  gemini: { name: string; description: string; parametersJsonSchema: ParametersSchema };
  mcp: {
    name: string;
    title?: string;
    description: string;
    inputSchema: ParametersSchema;
    /** Only for a tool whose `output` is the schema of an object, as MCP requires. */
    outputSchema?: ParametersSchema;
    annotations: { readOnlyHint: boolean; destructiveHint?: boolean; openWorldHint: boolean };
  };
}
