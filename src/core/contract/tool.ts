import type { CallUpdate } from "./activity.ts";
import type { OpenFile, OutputLog, PortAddress, Process, ToolBackend } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Content } from "./content.ts";
import type { FormInput } from "./decision.ts";
import { type Effect, type EffectKind, unknownKind } from "./effect.ts";
import type { FetchOptions, Fetched } from "./fetch.ts";
import type { Job, JobCommand, Jobs } from "./job.ts";
import type { Memories } from "./memory.ts";
import type { ParkedState } from "./parked.ts";
import type { ToolResult } from "./result.ts";
import type { NewSchedule, Schedule, Schedules } from "./schedule.ts";
import type { SeenFiles } from "./seen.ts";
import { type InputOf, type Json, type JsonSchema, type Schema, type SchemaSource, toSchema } from "./schema.ts";

/** How much of a result a model gets. An absent field means no limit of that kind. */
export interface Limit {
  readonly lines?: number;
  /** In UTF-8. */
  readonly bytes?: number;
  /** Unicode code points. */
  readonly characters?: number;
}

/**
 * Looks up a tool's name in a toolset, by its usual name or an alias. `undefined` when the toolset does not have it.
 * With `parameter`, only a tool with this parameter counts.
 */
export type ToolNames = (tool: string, parameter?: string) => string | undefined;

/** A function that a model can call. Make one with `defineTool`. */
export interface Tool<Input = unknown, Data extends Json = Json> {
  /** A letter or `_`, then up to 63 letters, digits, `_` or `-`: the form that every provider accepts. */
  readonly name: string;
  /** For people: "Read file". */
  readonly title?: string;
  /** For the model. */
  readonly description: string;
  /** For people, one line: "path (required), offset, limit". Default: the properties of `input`, in their order. */
  readonly paramsHint?: string;
  /** Other names that models use for the tool. Another tool's own name wins over an alias. */
  readonly aliases?: readonly string[];
  readonly input: Schema<Input>;
  /**
   * The schema of a successful call's data. A call whose data does not fit fails. MCP clients get the data as
   * structured content.
   */
  readonly output?: JsonSchema;
  /** The kinds of effects that a call can have; other kinds make it fail. MCP clients get hints made from this list. */
  readonly touches: readonly EffectKind[];
  /** Whether apps show its calls. Default true. */
  readonly userFacing?: boolean;
  /** Which end of a long result is kept. Default "head". */
  readonly keep?: "head" | "tail";
  /** Default: 2,000 lines and 51,200 bytes. */
  readonly limit?: Limit;
  /**
   * Repairs common spellings before validation. Gets the raw arguments (also a bare string) and returns what is
   * validated.
   */
  mend?(raw: unknown): unknown;
  /**
   * Returns the names of parameters that this input lacks, where the schema cannot require them: it has one of two
   * forms, or another parameter demands them. The call is then invalid, as for a parameter that the schema requires.
   */
  missing?(input: Input): readonly string[];
  /** Returns exactly what this call will touch, for the policy. Pure and fast. */
  effects(input: Input): readonly Effect[];
  /**
   * Returns what a call would change in the file that it writes, for a person who is asked: a unified diff. It writes
   * nothing. `undefined` or a rejection: the change is not known.
   */
  change?(input: Input, backend: Pick<ToolBackend, "files" | "workDir" | "home">): Promise<string | undefined>;
  /** Does the work. Throws `ToolFailure` to fail on purpose. The data is small JSON: save big data as outputs. */
  run(input: Input, context: ToolContext): Promise<Data>;
  /** Returns the text for the model. Default: a string as it is, anything else as JSON. */
  render?(data: Data, input: Input): string | readonly Content[];
  /**
   * Returns the text of a refusal or a failure in the tool's own words. Gets the reason of a result "denied", unless a
   * person gave it, or the message of a result "failed". Default: the text as it is.
   */
  phrase?(text: string, status: "denied" | "failed"): string;
  /** Returns the same tool with texts for a toolset with these names. Called by `toolset`; see `withToolNames`. */
  among?(names: ToolNames): Tool<Input, Data>;
}

/** The context of a running tool. It belongs to one call and stops working when the call ends. */
export interface ToolContext {
  readonly callId: CallId;
  readonly thread: ThreadId;
  /** The agent's turn, if an agent makes the call. */
  readonly turn: string | undefined;
  /** Limited to what the call declared or was permitted. */
  readonly backend: ToolBackend;
  /** The closed parts of folders that this call may read. */
  readonly closed: Closed;
  /** Fires when the call is stopped. Pass it on. */
  readonly signal: AbortSignal;
  readonly outputs: Outputs;
  /**
   * Masks secrets in a text, as in everything that the tool returns. A tool that truncates its own output needs it to
   * measure what will be shown: `truncateHead(text, limit, mask)`.
   */
  readonly mask: (text: string) => string;
  /** Background commands, as far as the call declared them. */
  readonly jobs: ToolJobs;
  /** Memories, as far as the call declared that it reads or changes them. */
  readonly memories: Memories;
  /** Schedules of this target, as far as the call declared that it reads or changes them. */
  readonly schedules: ToolSchedules;
  /** The state in which the toolkit's tools last saw files. */
  readonly seen: SeenFiles;
  /**
   * Requests an effect that is known only now. Asks the policy and, if needed, a person; rejects when refused. With
   * `unasked` nobody is asked, and an effect that needs a new approval is refused. Resolves to what the person filled
   * into the effect's form, if anything.
   */
  permit(effect: Effect, options?: { readonly unasked?: boolean }): Promise<FormInput | undefined>;
  /**
   * Makes a request from this machine, whatever the backend. Its URL and every redirect need `permit`, unless the call
   * declared them; every address is judged before the connection. Rejects with a `ToolFailure` when there is no
   * response.
   */
  fetch(url: string, options?: FetchOptions): Promise<Fetched>;
  /**
   * Reports the URL of a search result, so that the thread knows it. Only for a call with an effect of kind "search".
   * Never throws.
   */
  meet(url: string): void;
  /**
   * Reports links of a page that the call has read, so that they can be followed unasked. `fetch` does this for what it
   * finds in a body: report those that only the tool can find, for example in a PDF. Only for a call with an effect of
   * kind "fetch" or "page". Never throws.
   */
  linked(page: string, links: readonly string[]): void;
  /** Calls another tool of the toolkit: the policy, approver and store are the same. Never rejects. */
  call(name: string, input: unknown): Promise<ToolResult>;
  /** Reports progress to people. Never throws. */
  report(update: CallUpdate): void;
  /** Adds a part to the result, after the rendered data, for example an image. Never throws. */
  attach(part: Content): void;
}

/**
 * Paths that stay closed below folders that a call may read: the policy forbids them, or would ask about them if named.
 */
export interface Closed {
  /** Real paths that are closed, with everything in them. `stat` works on them; searches skip them. */
  readonly paths: readonly string[];
  /** Whether the content of this real path is closed. A search may still read such a file: drop its matches. */
  holds(path: string): boolean;
}

/**
 * The toolkit's jobs, limited to one call: it can start the commands that it declared with a longer lifetime, and read,
 * write to (as declared) and stop the jobs that it declared.
 */
export interface ToolJobs extends Pick<Jobs, "list" | "get" | "told"> {
  /** `script` is the command's text for people. */
  start(command: JobCommand, script: string): Promise<Job>;
  /**
   * Turns a process of this call into a job, so that it outlives the call. Only for processes in a live terminal, which
   * people can see. Rejects with a `ToolFailure` when that is not possible; then the process still ends with the call.
   */
  adopt(process: Process, script: string): Promise<Job>;
  /** `Jobs.reachPort` for this thread. It may also be used after the call. */
  reachPort(port: number): Promise<PortAddress | undefined>;
  /** The state of a parked call of this thread, in words, or its result; `undefined` if the call was never parked. */
  parked(call: CallId): Promise<{ readonly state: ParkedState; readonly text: string } | undefined>;
  /** The parked calls of this thread that have not ended, oldest first. */
  allParked(): Promise<readonly { readonly id: CallId; readonly name: string; readonly text: string }[]>;
}

/** The schedules of a call's target. */
export interface ToolSchedules extends Pick<Schedules, "runs" | "remove"> {
  /** Adds a schedule. If a person approved the call, that answer is the schedule's grant. */
  add(schedule: NewSchedule): Promise<Schedule>;
  list(): Promise<readonly Schedule[]>;
  /** Whether a living process runs the schedules. */
  isAttended(): Promise<boolean>;
}

/** Results that are too big for a model. Kept for the toolkit that made them, and read as `output://ID`. */
export interface Outputs {
  /** The folder in which commands find the saved outputs (`Sandbox.outputs`). Absent: commands cannot read them. */
  readonly forCommands?: string | undefined;
  /** Saves text or a process's log. Resolves to the id. */
  save(content: string | Uint8Array | OutputLog): Promise<string>;
  /** Opens a saved output. Rejects with a `ToolFailure` when it does not exist or was removed. */
  open(id: string): Promise<OpenFile>;
}

/** The argument of `defineTool`. */
export type ToolDefinition<S extends SchemaSource, Data extends Json> = Omit<
  Tool<InputOf<S>, Data>,
  "input" | "output" | "touches" | "effects" | "change" | "run" | "render" | "among"
> & {
  /** The kinds of effects that a call can have. Default: no kinds. */
  readonly touches?: readonly EffectKind[];
  /** Returns what a call will touch. Default: nothing. */
  effects?(input: InputOf<S>): readonly Effect[];
  change?(input: InputOf<S>, backend: Pick<ToolBackend, "files" | "workDir" | "home">): Promise<string | undefined>;
  readonly input: S;
  /** Checked as JSON Schema; further checks of a Standard Schema are not run. */
  readonly output?: SchemaSource;
  run(input: InputOf<S>, context: ToolContext): Promise<Data>;
  render?(data: NoInfer<Data>, input: InputOf<S>): string | readonly Content[];
};

/**
 * Options of a built-in tool's factory, so that presets can offer one implementation under different names and limits.
 */
export type ToolOptions = Partial<Pick<Tool, "name" | "title" | "description" | "aliases" | "limit" | "phrase">>;

/**
 * The tool names that all of these accept:
 * - OpenAI `^[a-zA-Z0-9_-]{1,64}$`: https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools
 * - Anthropic `^[a-zA-Z0-9_-]{1,128}$` (once 64): the API's own error, "tools.0.custom.name: String should match
 *   pattern …"
 * - Gemini `^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$` (127 in Vertex AI): https://ai.google.dev/api/caching#FunctionDeclaration
 *   and the API's own error, "Invalid function name. Must start with a letter or an underscore …"
 * - MCP `^[a-zA-Z0-9_.-]{1,128}$`: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names
 */
const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/** Whether every model provider accepts this name for a tool. */
export function isToolName(name: unknown): name is string {
  return typeof name === "string" && TOOL_NAME.test(name);
}

/**
 * Makes a tool. The type of `input` in `effects`, `run` and `render` is inferred from the schema: a TypeBox type, a
 * JSON Schema literal or a Standard Schema.
 *
 * @throws TypeError when a model provider would not accept the name, or `touches` has an unknown kind.
 */
export function defineTool<const S extends SchemaSource, Data extends Json>(
  definition: ToolDefinition<S, Data>,
): Tool<InputOf<S>, Data> {
  if (!isToolName(definition.name)) {
    throw new TypeError(
      `tool name ${JSON.stringify(definition.name)}: expected a letter or "_", then up to 63 letters, digits, "_" ` +
        'or "-"',
    );
  }
  const unknown = unknownKind(definition.touches ?? []);
  if (unknown !== undefined) throw new TypeError(`tool "${definition.name}": ${unknown}`);
  const { output, ...rest } = definition;
  return {
    touches: [],
    effects: () => [],
    ...rest,
    input: toSchema(definition.input),
    ...(output !== undefined && { output: toSchema(output).json }),
  };
}

/**
 * Makes a tool whose texts name other tools. `make` gets their names in the tool's toolset, and must not name a tool
 * that the toolset lacks. A copy (`{ ...tool }`) keeps its texts in every toolset.
 */
export function withToolNames<Input, Data extends Json>(
  make: (names: ToolNames) => Tool<Input, Data>,
): Tool<Input, Data> {
  const among = (names: ToolNames) => Object.defineProperty(make(names), "among", { value: among }); // not enumerable
  return among(() => undefined);
}
