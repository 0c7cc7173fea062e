import type { Limits } from "../agent/turn.ts";
import { type ModelSettings, PROVIDERS, parseModel } from "../agent/models/load.ts";
import { parseDuration } from "../tools/shared/duration.ts";
import { messageOf } from "../util/errors.ts";
import { type Base, absolutePath } from "../util/paths.ts";
import { quoteWords } from "../util/quote.ts";
import { camelKeys } from "./names.ts";
import {
  type ValueOf,
  choice,
  either,
  fields,
  host,
  integer,
  list,
  positive,
  text,
  variable,
  webUrl,
  yesOrNo,
} from "./schemas.ts";

/** Who sets a value: the user (a file, the environment, a flag), or a project's file. */
export type Owner = "user" | "project";

/** Options of tools, by the tool's name. */
export interface ToolSettings {
  readonly [tool: string]: ToolSetting;
}

/** The settings of a tool. `tools.options` decides which of them a tool has. */
export interface ToolSetting {
  /** How much of a result a model gets. */
  readonly limit?: { readonly lines?: number; readonly bytes?: number };
  /** The number of results if a call sets none. */
  readonly max_results?: number;
  /** The timeout of a command if a call sets none, in seconds. */
  readonly timeout?: number;
}

/** A plugin, as a file configures it. */
export interface PluginSetting {
  /** Absolute, or a name to look up on the PATH. */
  readonly path: string;
  readonly args: readonly string[];
  /** The names of environment variables that are passed to it. */
  readonly env: readonly string[];
  /** Whether it runs in the sandbox. Default: if a project configures it, or a model can write where it is. */
  readonly sandbox?: boolean;
  /** "workspace": it starts there, and runs in the sandbox by default. */
  readonly cwd?: "workspace";
  /** The hosts that it may reach from the sandbox. Default: none. */
  readonly hosts?: readonly string[];
  /** Default: see `pluginName`. */
  readonly name?: string;
  /** How long a call may take without a result or an update, in seconds. */
  readonly timeout?: number;
  /**
   * Absent for the user's own plugin. Otherwise whether the user has trusted the project that configures it. Without
   * trust it is not started.
   */
  readonly project?: "trusted" | "not trusted";
}

export const pluginSchema = fields(
  {
    path: text("a program: a path, or a name that is found on the PATH", { pattern: "\\S", advice: "It is empty." }),
    args: list(text("an argument")),
    env: list(variable),
    sandbox: yesOrNo,
    cwd: choice(["workspace"]),
    hosts: list(host),
    name: text("a name", {
      pattern: "^[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*$",
      advice: "A name is letters, digits and -.",
    }),
    timeout: positive(86_400, "seconds"),
  },
  ["path"],
);

export function pluginOf(
  { path, args = [], env = [], ...rest }: ValueOf<typeof pluginSchema>,
  base: Base,
): PluginSetting {
  const words = args.map((arg) => (/^(?:\.\.?|~)\//.test(arg) ? absolutePath(arg, base) : arg));
  return { path: programIn(path, base), args: words, env, ...rest };
}

/** Returns the program that a file names: a name without a slash is found on the PATH. */
export function programIn(program: string, base: Base): string {
  return program.includes("/") ? absolutePath(program, base) : program;
}

/** Describes a plugin: "runs ./weather.py --verbose with WEATHER_KEY of your environment, in the sandbox". */
export function describePlugin({ path, args, env, sandbox = true, hosts = [] }: PluginSetting): string {
  const variables = env.length === 0 ? "" : ` with ${env.join(", ")} of your environment`;
  const reaching = hosts.length === 0 ? "" : `, with the hosts ${hosts.join(", ")}`;
  const where = sandbox ? `in the sandbox${reaching}` : "OUTSIDE the sandbox, as you";
  return `runs ${quoteWords([path, ...args])}${variables}, ${where}`;
}

/** A module with tools, as a file configures it. */
export interface ModuleSetting extends Pick<PluginSetting, "project"> {
  /** Absolute. */
  readonly path: string;
}

const modelMap = fields(
  {
    provider: choice(Object.keys(PROVIDERS)),
    name: text("the name of the model, as the provider calls it"),
    base_url: webUrl("a URL"),
    key_variable: text("the name of an environment variable"),
    context: integer(1_000, 100_000_000),
    price: fields(
      {
        input: positive(1_000_000, "money for a million tokens"),
        output: positive(1_000_000, "money for a million tokens"),
      },
      ["input", "output"],
    ),
  },
  ["provider", "name"],
);

/** A model: `openai:gpt-5`, or a map. */
export const modelSchema = either(
  "PROVIDER:NAME, or a map of provider, name, base_url, key_variable, context, price",
  text("PROVIDER:NAME", { format: "model" }),
  modelMap,
);

export function modelOf(written: ValueOf<typeof modelSchema>): ModelSettings {
  if (typeof written !== "string") return camelKeys(written);
  // what is not a model is a text with ${NAME} in a project's file that has no effect yet
  return modelFault(written) === undefined ? parseModel(written) : { provider: written, name: "" };
}

/** Returns what is wrong with PROVIDER:NAME, as a sentence. */
export function modelFault(written: string): string | undefined {
  try {
    parseModel(written);
    return undefined;
  } catch (error) {
    return `${messageOf(error)}.`.replace(/\.\.$/, ".");
  }
}

/** An agent that the user configures. */
export interface AgentChoice {
  readonly model?: ModelSettings;
  /** A preset, or a toolset of the user. */
  readonly toolset?: string;
  readonly instructions?: string;
  readonly limits?: Pick<Limits, "rounds" | "timeMs" | "tokens" | "cost">;
}

export const agentSchema = fields({
  model: modelSchema,
  toolset: text("the name of a preset or of a toolset"),
  instructions: text("text for the model"),
  limits: fields({
    rounds: integer(1, 1_000_000),
    time: positive(86_400, "seconds"),
    tokens: integer(1, 1_000_000_000),
    cost: positive(1_000_000, "US dollars"),
  }),
});

export function agentOf({ model, limits = {}, ...rest }: ValueOf<typeof agentSchema>): AgentChoice {
  const { time, ...others } = limits;
  return {
    ...rest,
    ...(model !== undefined && { model: modelOf(model) }),
    limits: { ...others, ...(time !== undefined && { timeMs: time * 1_000 }) },
  };
}

/** When calls that wait for a person are parked, as the option `park` of a toolkit. */
export type ParkMode = "now" | "never" | { readonly afterMs: number };

/** Reads "now", "never" or "after 10m"; `undefined` for anything else. */
export function parkMode(written: string): ParkMode | undefined {
  if (written === "now" || written === "never") return written;
  const afterMs = parseDuration(/^after (.+)$/.exec(written)?.[1] ?? "");
  return afterMs === undefined || afterMs === 0 ? undefined : { afterMs };
}
