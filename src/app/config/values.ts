import { type ModelSettings, PROVIDERS, parseModel } from "../../agent/models/load.ts";
import { parseDuration } from "../../tools/shared/duration.ts";
import { messageOf } from "../../core/util/errors.ts";
import { type Base, absolutePath } from "../../core/util/paths.ts";
import { quoteWords } from "../../core/util/quote.ts";
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
  record,
  text,
  toolName,
  variable,
  webUrl,
  yesOrNo,
} from "./schemas.ts";

/** Who sets a value: the user (a file, the environment, a flag), or a project's file. */
export type Owner = "user" | "project";

const limit = fields({ lines: integer(1, 1_000_000), bytes: integer(1, 10_485_760) });
const timed = (most: number) => fields({ limit, timeout: positive(most, "seconds") });
const counted = (most: number) => fields({ limit, max_results: integer(1, most) });

/** What a file may set for a tool: how much of a result a model gets, and defaults of calls. */
type ToolSetting = ValueOf<ReturnType<typeof timed>> & ValueOf<ReturnType<typeof counted>>;

/** Options of tools, by the tool's name. */
export const toolOptions = record<ToolSetting>("a map of tools, each with its options", toolName, fields({ limit }), {
  bash: timed(86_400),
  shell: timed(86_400),
  grep: counted(10_000),
  find: counted(10_000),
  web_search: counted(20),
  web_fetch: timed(600),
});
export type ToolSettings = ValueOf<typeof toolOptions>;

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
type WrittenPlugin = ValueOf<typeof pluginSchema>;

/** What a project's file adds, marked with whether the user has trusted the file. Without trust it has no effect. */
export interface OfProject {
  readonly project?: "trusted" | "not trusted";
}

/** A plugin, as a file configures it. Its path is absolute, or a name on the PATH. `timeout` is in seconds. */
export type PluginSetting = WrittenPlugin & Required<Pick<WrittenPlugin, "args" | "env">> & OfProject;

/** The plugins of a file. Its arguments that begin with `./`, `../` or `~/` are paths. */
export function pluginsOf(written: readonly WrittenPlugin[], base: Base): readonly PluginSetting[] {
  return written.map(({ path, args = [], env = [], ...rest }) => {
    const words = args.map((arg) => (/^(?:\.\.?|~)\//.test(arg) ? absolutePath(arg, base) : arg));
    return { path: programIn(path, base), args: words, env, ...rest };
  });
}

/** Modules with tools, by their absolute paths. */
export function modulesOf(paths: readonly string[], base: Base): readonly (OfProject & { readonly path: string })[] {
  return paths.map((path) => ({ path: absolutePath(path, base) }));
}

/** Marks what a project's file adds. */
export function markEach<T extends OfProject>(all: readonly T[], project: "trusted" | "not trusted"): readonly T[] {
  return all.map((each) => ({ ...each, project }));
}

/** Returns the program that a file names: a name without a slash is found on the PATH. */
function programIn(program: string, base: Base): string {
  return program.includes("/") ? absolutePath(program, base) : program;
}

/** Returns the words of a command whose program a file names. */
export function wordsOf([program, ...args]: readonly string[], base: Base): readonly string[] {
  return program === undefined ? [] : [programIn(program, base), ...args];
}

/** Describes a plugin: "runs ./weather.py --verbose with WEATHER_KEY of your environment, in the sandbox". */
export function describePlugin({ path, args, env, sandbox = true, hosts = [] }: PluginSetting): string {
  const variables = env.length === 0 ? "" : ` with ${env.join(", ")} of your environment`;
  const reaching = hosts.length === 0 ? "" : `, with the hosts ${hosts.join(", ")}`;
  const where = sandbox ? `in the sandbox${reaching}` : "OUTSIDE the sandbox, as you";
  return `runs ${quoteWords([path, ...args])}${variables}, ${where}`;
}

const price = positive(1_000_000, "money for a million tokens");

/** A model: `openai:gpt-5`, or a map. */
export const modelSchema = either(
  "PROVIDER:NAME, or a map of provider, name, base_url, key_variable, context, price",
  text("PROVIDER:NAME", { format: "model" }),
  fields(
    {
      provider: choice(Object.keys(PROVIDERS)),
      name: text("the name of the model, as the provider calls it"),
      base_url: webUrl("a URL"),
      key_variable: text("the name of an environment variable"),
      context: integer(1_000, 100_000_000),
      price: fields({ input: price, output: price }, ["input", "output"]),
    },
    ["provider", "name"],
  ),
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

export const agentSchema = fields({
  model: modelSchema,
  toolset: text("the name of a preset or of a toolset"),
  instructions: text("text for the model"),
  limits: fields({
    rounds: integer(1, 1_000_000),
    time: positive(86_400, "seconds"),
    tokens: integer(1, 1_000_000_000),
    cost: positive(1_000_000, "the currency of the prices"),
  }),
});

/** An agent that the user configures. */
export type AgentChoice = ReturnType<typeof agentsOf>[string];

/** The agents of a file, by name, with their limits as those of a turn. */
export function agentsOf(agents: { readonly [name: string]: ValueOf<typeof agentSchema> }) {
  return mapped(agents, ({ model, limits: { time, ...limits } = {}, ...rest }) => ({
    ...rest,
    ...(model !== undefined && { model: modelOf(model) }),
    limits: { ...limits, ...(time !== undefined && { timeMs: time * 1_000 }) },
  }));
}

/** When calls that wait for a person are parked, as the option `park` of a toolkit. */
type ParkMode = "now" | "never" | { readonly afterMs: number };

/** Reads "now", "never" or "after 10m"; `undefined` for anything else. */
export function parkMode(written: string): ParkMode | undefined {
  if (written === "now" || written === "never") return written;
  const afterMs = parseDuration(/^after (.+)$/.exec(written)?.[1] ?? "");
  return afterMs === undefined || afterMs === 0 ? undefined : { afterMs };
}

/** A map with each value replaced. */
export function mapped<A, B>(values: { readonly [name: string]: A }, to: (value: A) => B) {
  const all: { readonly [name: string]: B } = Object.fromEntries(
    Object.entries(values).map(([each, value]) => [each, to(value)] as const),
  );
  return all;
}
