import { type ToolChoice, chosenTools } from "../tools/presets/choose.ts";
import type { Given, KeysWith } from "./keys.ts";
import { toolsetsIn } from "./layer.ts";
import { startOf } from "./mcp.ts";
import type { Place } from "./problem.ts";
import { quoteWords } from "../util/quote.ts";
import type { PluginSetting, Settings } from "./settings.ts";

/** A part of a project's file that takes effect only when the user trusts the file. */
export interface Ask {
  readonly key: string;
  readonly place: Place;
  /** What trust would allow, for people: "commands get GITHUB_TOKEN from your environment". Not safe for a terminal. */
  readonly gives: string;
}

/** What applies without the project's file. */
export interface Without {
  readonly settings: Settings;
  /** True if the user's own file sets the preset. */
  readonly choseTools: boolean;
}

type Rule<K extends KeysWith<"when trusted">> = (
  given: NonNullable<Given[K]>,
  all: Given,
  without: Without,
) => string | undefined;

/** Returns what trust would allow for a project's value; `undefined` if the value needs no trust. */
export const ASKING: { readonly [K in KeysWith<"when trusted">]: Rule<K> } = {
  "tools.preset": ({ value: preset }, all, { settings, choseTools }) => {
    if (!choseTools) return undefined;
    const { toolsets } = settings;
    const own = actingTools({ preset: settings.tools.preset, toolsets });
    const added = actingTools({ preset, toolsets: { ...toolsets, ...toolsetsIn(all) } }).filter(
      (name) => !own.includes(name),
    );
    return added.length === 0 ? undefined : `tools that act and are not in your own toolset: ${added.join(", ")}`;
  },
  "tools.plugins": ({ value }) => (value.length === 0 ? undefined : value.map(describePlugin).join("; ")),
  "tools.modules": ({ value }) =>
    value.length === 0
      ? undefined
      : `code runs in Handrail's own process, outside the sandbox: ${value.map(({ path }) => path).join(", ")}`,
  "tools.mcp": ({ value: servers }) => {
    const starts = Object.entries(servers).map(([name, server]) => `${name} ${startOf(server)}`);
    return starts.length === 0 ? undefined : `MCP servers: ${starts.join("; ")}`;
  },
  model: ({ value: { provider, name, baseUrl } }) =>
    "your prompts and what tools read are sent to the model " +
    `${provider}:${name}${baseUrl === undefined ? "" : ` at ${baseUrl}`}`,
  agents: ({ value }) => {
    const names = Object.keys(value);
    return names.length === 0
      ? undefined
      : `agents with the project's own model, tools and instructions: ${names.join(", ")}`;
  },
  "policy.env.pass": ({ value: names }) =>
    names.length === 0 ? undefined : `commands get ${names.join(", ")} from your environment`,
};

/** Describes a plugin: "runs ./weather.py --verbose with WEATHER_KEY of your environment, in the sandbox". */
function describePlugin({ path, args, env, sandbox = true, hosts = [] }: PluginSetting): string {
  const variables = env.length === 0 ? "" : ` with ${env.join(", ")} of your environment`;
  const reaching = hosts.length === 0 ? "" : `, with the hosts ${hosts.join(", ")}`;
  const where = sandbox ? `in the sandbox${reaching}` : "OUTSIDE the sandbox, as you";
  return `runs ${quoteWords([path, ...args])}${variables}, ${where}`;
}

/** Returns the tools that do more than look. An unknown preset has none here; other code reports it. */
function actingTools(choice: ToolChoice): readonly string[] {
  try {
    const acting = chosenTools(choice, { terminal: true }).filter(({ touches }) =>
      touches.some((kind) => kind !== "read" && kind !== "output"),
    );
    return acting.map(({ name }) => name);
  } catch {
    return [];
  }
}
