import type { CallUpdate } from "./activity.ts";
import type { FileInfo, OpenFile, OutputLog, Process, ToolBackend } from "./backend.ts";
import type { CallId, ThreadId } from "./identity.ts";
import type { Content } from "./content.ts";
import type { Effect, EffectKind } from "./effect.ts";
import type { FetchOptions, Fetched } from "./fetch.ts";
import type { Job, JobCommand, Jobs } from "./job.ts";
import type { Memories } from "./memory.ts";
import type { ToolResult } from "./result.ts";
import { type InputOf, type Json, type JsonSchema, type Schema, type SchemaSource, toSchema } from "./schema.ts";

/** How much of a result a model is shown. What is left out means no limit of that kind. */
export interface Limit {
  readonly lines?: number;
  /** Of UTF-8. */
  readonly bytes?: number;
  /** Unicode code points. */
  readonly characters?: number;
}

/**
 * What a tool is called in a toolset, looked up by its usual name or an alias; `undefined`: it is not there. With `parameter`, only a tool that
 * takes this argument counts.
 */
export type ToolNames = (tool: string, parameter?: string) => string | undefined;

/** A function a model can call. Make one with `defineTool`. */
export interface Tool<Input = unknown, Data extends Json = Json> {
  /** A letter or `_`, then up to 63 letters, digits, `_` or `-`: what every provider accepts. */
  readonly name: string;
  /** For people: "Read file". */
  readonly title?: string;
  /** For the model. */
  readonly description: string;
  /** For people, one line: "path (required), offset, limit". Default: the properties of `input`, in their order. */
  readonly paramsHint?: string;
  /** Other names that models use for it. A tool's own name wins over another's alias. */
  readonly aliases?: readonly string[];
  readonly input: Schema<Input>;
  /** What the data of a successful call looks like. A call whose data does not fit it fails. MCP clients get such data as structured content. */
  readonly output?: JsonSchema;
  /** The kinds of effects a call can have. Says to MCP clients what to expect; a call with another kind fails. */
  readonly touches: readonly EffectKind[];
  /** False: apps draw no cell for it. Default true. */
  readonly userFacing?: boolean;
  /** Which end of a long result survives. Default "head". */
  readonly keep?: "head" | "tail";
  /** Default: 2,000 lines and 51,200 bytes. */
  readonly limit?: Limit;
  /** Repairs common spellings before validation. Gets the raw arguments (a bare string too); what it returns is validated. */
  mend?(raw: unknown): unknown;
  /** Exactly what this call will touch. Pure and quick; the policy judges it before anything runs. */
  effects(input: Input): readonly Effect[];
  /** Does the work. Throws `ToolFailure` to fail on purpose. The data is bounded JSON: big things go to saved outputs. */
  run(input: Input, context: ToolContext): Promise<Data>;
  /** What the model reads. Default: a string as it is, anything else as JSON. */
  render?(data: Data, input: Input): string | readonly Content[];
  /** The same tool with texts for a toolset in which other tools have these names. `toolset` calls it. See `withToolNames`. */
  among?(names: ToolNames): Tool<Input, Data>;
}

/** What a running tool is given. It belongs to one call and stops working when the call ends. */
export interface ToolContext {
  readonly callId: CallId;
  readonly thread: ThreadId;
  /** The agent's turn that the call belongs to, if one made it. */
  readonly turn: string | undefined;
  /** Touches only what the call declared or was permitted. */
  readonly backend: ToolBackend;
  /** What of the folders this call may read stays closed to it. */
  readonly closed: Closed;
  /** Fires when the call is stopped. Hand it down. */
  readonly signal: AbortSignal;
  readonly outputs: Outputs;
  /**
   * Masks secrets in a text, as is done with everything the tool returns. A tool that cuts its own output needs it to measure what will be
   * shown: `truncateHead(text, limit, mask)`.
   */
  readonly mask: (text: string) => string;
  /** Commands in the background, as far as the call declared them. */
  readonly jobs: ToolJobs;
  /** What is remembered, as far as the call declared that it reads or changes it. */
  readonly memories: Memories;
  /** What the toolkit's tools last saw of files. */
  readonly seen: SeenFiles;
  /**
   * For an effect that is known only now. Goes through the policy and, if need be, a person; rejects when refused. With `unasked` nobody is
   * asked: what would need an approval that was not given before is refused.
   */
  permit(effect: Effect, options?: { readonly unasked?: boolean }): Promise<void>;
  /**
   * Makes a request from this machine, whatever the backend is. Its URL and every redirect goes through `permit`, unless the call declared it; every
   * address is judged before it is connected to. Rejects with a `ToolFailure` when there is no response.
   */
  fetch(url: string, options?: FetchOptions): Promise<Fetched>;
  /** Marks the host of a search result as known in the thread. Only for a call with an effect of kind "search". Never throws. */
  meet(url: string): void;
  /** Calls another tool of the toolkit: same policy, approver and store. Never rejects. */
  call(name: string, input: unknown): Promise<ToolResult>;
  /** Shows people something while the tool runs. Never throws. */
  report(update: CallUpdate): void;
  /** Adds a part to what the model reads, behind the rendered data: a picture, which is no data. Never throws. */
  attach(part: Content): void;
}

/** What lies below a folder that a call may read and stays closed to it: the policy forbids it, or would ask about it if it were named. */
export interface Closed {
  /** Real paths that are closed with all under them. They may be looked for with `stat`; helpers leave them out. */
  readonly paths: readonly string[];
  /** Whether the content of this real path is closed. Helpers look into such files all the same: leave out what they find there. */
  holds(path: string): boolean;
}

/**
 * The toolkit's jobs, as a call may use them: it starts what it declared with a lifetime beyond the call, and of a job it declared it reads, writes what
 * it said it would, and stops it.
 */
export interface ToolJobs extends Pick<Jobs, "list" | "get" | "told"> {
  /** `script` is the command as people are shown it. */
  start(command: JobCommand, script: string): Promise<Job>;
  /**
   * Lets a process that this call started go on as a job when the call is over. Only one in a live terminal, where people see it. Rejects with a
   * `ToolFailure` where it cannot go on; then it is the call's own still.
   */
  adopt(process: Process, script: string): Promise<Job>;
}

/** Results too big for a model, kept for the toolkit that made them and read again as `output://ID`. */
export interface Outputs {
  /** Saves text or a process's log. Resolves to the id. */
  save(content: string | Uint8Array | OutputLog): Promise<string>;
  /** Opens a saved output. Fails with a `ToolFailure` when there is none of this id (any more). */
  open(id: string): Promise<OpenFile>;
}

/** A file as a tool last saw or left it. */
export interface SeenFile {
  /** `FileInfo.version` at that time. */
  readonly version: string;
  /** `FileInfo.version` when a tool last wrote it. A read beside the write may have seen the file as it was before. */
  readonly written?: string;
  /** The whole content, when all of it was seen and it was small enough to keep. */
  readonly content?: Uint8Array;
}

/** Remembers files by their real path, so that what a person changed meanwhile is not overwritten unseen. */
export interface SeenFiles {
  /** `content` is the whole of it, or left out when only a part was seen. */
  remember(file: Pick<FileInfo, "path" | "version">, content?: Uint8Array): void;
  /** The same for what a tool of this toolkit has just written. */
  wrote(file: Pick<FileInfo, "path" | "version">, content: Uint8Array): void;
  recall(realPath: string): SeenFile | undefined;
}

/** A tool as its author writes it. */
export type ToolDefinition<S extends SchemaSource, Data extends Json> = Omit<
  Tool<InputOf<S>, Data>,
  "input" | "output" | "touches" | "effects" | "run" | "render" | "among"
> & {
  /** The kinds of effects a call can have. Default: none. */
  readonly touches?: readonly EffectKind[];
  /** What a call will touch. Default: nothing. */
  effects?(input: InputOf<S>): readonly Effect[];
  readonly input: S;
  /** Checked as JSON Schema; what a Standard Schema does beyond that is left out. */
  readonly output?: SchemaSource;
  run(input: InputOf<S>, context: ToolContext): Promise<Data>;
  render?(data: NoInfer<Data>, input: InputOf<S>): string | readonly Content[];
};

/** What a built-in tool's factory takes, so that one implementation serves several presets under different names and limits. */
export type ToolOptions = Partial<Pick<Tool, "name" | "title" | "description" | "aliases" | "limit">>;

/**
 * The names that all of these accept:
 *  - OpenAI `^[a-zA-Z0-9_-]{1,64}$`: https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools
 *  - Anthropic `^[a-zA-Z0-9_-]{1,128}$` (once 64): the API's own error, "tools.0.custom.name: String should match pattern …"
 *  - Gemini `^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$` (127 in Vertex AI): https://ai.google.dev/api/caching#FunctionDeclaration and the API's own error,
 *    "Invalid function name. Must start with a letter or an underscore …"
 *  - MCP `^[a-zA-Z0-9_.-]{1,128}$`: https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names
 */
const TOOL_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

/**
 * Makes a tool. The type of `input` in `effects`, `run` and `render` is read off the schema: a TypeBox type, a JSON Schema
 * literal or a Standard Schema.
 *
 * @throws TypeError when the name is not one that every model provider accepts.
 */
export function defineTool<const S extends SchemaSource, Data extends Json>(
  definition: ToolDefinition<S, Data>,
): Tool<InputOf<S>, Data> {
  if (!TOOL_NAME.test(definition.name)) {
    throw new TypeError(
      `tool name ${JSON.stringify(definition.name)}: expected a letter or "_", then up to 63 letters, digits, "_" or "-"`,
    );
  }
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
 * A tool whose texts name other tools: `make` gets the names that those have in the toolset the tool is put into. A name that `make` does not get
 * must not be in any text. A copy (`{ ...tool }`) keeps its texts in every toolset.
 */
export function withToolNames<Input, Data extends Json>(
  make: (names: ToolNames) => Tool<Input, Data>,
): Tool<Input, Data> {
  const among = (names: ToolNames) => Object.defineProperty(make(names), "among", { value: among }); // not enumerable
  return among(() => undefined);
}
