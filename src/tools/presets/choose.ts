import type { ScriptShell } from "../../core/contract/backend.ts";
import type { Sandboxed } from "../../core/contract/containment.ts";
import type { MemoryScope } from "../../core/contract/memory.ts";
import type { Tool, ToolOptions } from "../../core/contract/tool.ts";
import type { Browsers } from "../web/browser/protocol.ts";
import { findTool, toolset } from "../../core/call/toolset.ts";
import { matchesWildcard } from "../../core/util/wildcard.ts";
import { BUILT_IN, type BuiltInName, TERMINAL_TOOLS, type ToolOptionsByName, builtIn } from "./built-in.ts";
import { PRESETS, type PresetName } from "./presets.ts";

/** Which tools a toolkit has. */
export interface ToolChoice {
  /** The name of a preset, or of one of `toolsets`. Default: "coding", or "none" when `tools` are given. */
  readonly preset?: PresetName | (string & {});
  /**
   * Your own presets: names of built-in tools, of `tools`, and of tools from sources, where `*` stands for any
   * characters ("mcp__github__*"). The names of presets are reserved. `delegate` is there wherever there are agents to
   * delegate to, named or not.
   */
  readonly toolsets?: { readonly [name: string]: readonly string[] };
  /** Your own tools, besides the preset's. A tool that `toolsets` name is only in these toolsets. */
  readonly tools?: readonly Tool[];
  /** Names of tools to omit; for tools of sources also patterns with `*`. Names of agents' own tools are ignored. */
  readonly disable?: readonly string[];
  /**
   * Options of built-in tools and of tools from sources (`ToolOptions`), by name. Options of absent tools are ignored.
   */
  readonly toolOptions?: ToolOptionsByName & { readonly [name: string]: object | undefined };
}

/** What the tools' target supports. */
export interface ToolPlace {
  /** Whether commands run in a sandbox: their tools have arguments that ask it for more access. Default false. */
  readonly sandboxed?: Sandboxed;
  /** The shell that runs commands. Default "bash". */
  readonly shell?: ScriptShell;
  /** Who shares memories. Default "user". */
  readonly memoryScope?: MemoryScope;
  /** Whether there are tool sources, so that an unknown name may become known later. Default false. */
  readonly hasSources?: boolean;
  /** The browsers of the tool `browser`. Without them its calls fail. */
  readonly browsers?: Pick<Browsers, "act">;
  /** Whether there is a live terminal. Without one, the tools that need it are omitted. Default false. */
  readonly terminal?: boolean;
}

/**
 * Returns the chosen tools.
 *
 * @throws TypeError when a preset, toolset or tool does not exist, and when a toolset has the name of a preset.
 */
export function chosenTools(
  { toolsets = {}, tools, disable = [], toolOptions = {}, ...choice }: ToolChoice,
  {
    sandboxed = false,
    shell = "bash",
    terminal = false,
    memoryScope: scope = "user",
    hasSources = false,
    browsers,
  }: ToolPlace = {},
): readonly Tool[] {
  const { preset = tools === undefined ? "coding" : "none" } = choice;
  const options = {
    ...toolOptions,
    bash: { sandboxed, shell, terminal, ...toolOptions.bash },
    shell: { sandboxed, shell, ...toolOptions.shell },
    cron_add: { sandboxed, ...toolOptions.cron_add },
    browser: { ...(browsers !== undefined && { browsers }), ...toolOptions.browser },
    memory_store: { scope, ...toolOptions.memory_store },
    memory_recall: { scope, ...toolOptions.memory_recall },
    memory_forget: { scope, ...toolOptions.memory_forget },
    run_shell: { sandboxed, shell, terminal, ...toolOptions.run_shell },
  };
  const named = new Set(Object.values(toolsets).flat());
  const beside = (tools ?? []).filter(({ name }) => !named.has(name));
  const own = presetTools(preset, { toolsets, tools: tools ?? [], hasSources }, options);
  const all = [...own.filter(({ name }) => terminal || !TERMINAL_TOOLS.has(name)), ...beside];
  const unknown = disable.find(
    (name) => !isBuiltIn(name) && !isOfSource(name) && !isOfAgent(name) && !all.some((tool) => tool.name === name),
  );
  if (unknown !== undefined && !hasSources) throw new TypeError(`disable: there is no tool ${JSON.stringify(unknown)}`);
  return all.filter(({ name }) => !disable.includes(name));
}

/** The part of the choice that concerns tools of sources. */
export interface SourceChoice {
  /** Returns the tool as chosen; `undefined` to omit it. With a preset of Handrail, all tools of sources are chosen. */
  readonly choose: (tool: Tool) => Tool | undefined;
  /**
   * The position of a tool: that of its name, or of the first pattern for it, in the toolset; otherwise after these.
   */
  readonly position: (name: string) => number;
  /** Returns a sentence for each chosen name or pattern that matches no tool. */
  readonly missing: () => readonly string[];
}

/** The end of a sentence about a chosen name that no tool has. */
export const NO_SUCH_TOOL = "and there is no such tool.";

/** Chooses among tools of sources, as `chosenTools` does among the tools that are always present. */
export function sourceChoice({
  preset,
  toolsets = {},
  tools,
  disable = [],
  toolOptions = {},
}: ToolChoice): SourceChoice {
  const isOfYours = preset !== undefined && !isPreset(preset);
  const wanted = isOfYours ? (toolsets[preset] ?? []) : ["*"];
  const known = new Set([...Object.keys(BUILT_IN), ...(tools ?? []).map(({ name }) => name)]);
  const fits = (patterns: readonly string[], name: string) => patterns.some((each) => matchesWildcard(each, name));
  const unmet = (patterns: readonly string[], where: string) =>
    patterns
      .filter((pattern) => ![...known].some((name) => matchesWildcard(pattern, name)))
      .map((pattern) => `${where} names ${JSON.stringify(pattern)}, ${NO_SUCH_TOOL}`);
  return {
    position(name) {
      const exact = wanted.indexOf(name);
      const at = exact < 0 ? wanted.findIndex((pattern) => matchesWildcard(pattern, name)) : exact;
      return at < 0 ? wanted.length : at;
    },
    choose(tool) {
      known.add(tool.name);
      if (!fits(wanted, tool.name) || fits(disable, tool.name)) return undefined;
      if (isBuiltIn(tool.name) || !Object.hasOwn(toolOptions, tool.name)) return tool;
      const options: ToolOptions = toolOptions[tool.name] ?? {};
      return { ...tool, ...options };
    },
    missing() {
      const disabled = disable.filter((name) => !isOfAgent(name));
      const yours = isOfYours ? wanted.filter((name) => name !== "delegate") : [];
      return [...unmet(yours, `toolset "${preset}"`), ...unmet(disabled, "disable")];
    },
  };
}

/**
 * Returns where the built-in tool of a name is, for a toolkit that lacks it; `undefined` if no preset has such a tool.
 */
export function presetsWith(name: string): string | undefined {
  const having = Object.entries(PRESETS).flatMap(([preset, tools]) => {
    const tool = findTool(toolset(tools()), name);
    return tool === undefined ? [] : [{ preset, tool: tool.name }];
  });
  const [first] = having;
  if (first === undefined) return undefined;
  const presets = having.slice(0, 3).map(({ preset }) => JSON.stringify(preset));
  return (
    `${JSON.stringify(first.tool)} is a tool of the preset${presets.length === 1 ? "" : "s"} ${presets.join(", ")}: ` +
    "choose one with --preset, or with `preset` in the configuration or the options."
  );
}

/**
 * Returns true for a pattern or the name of a server's tool ("mcp__github__get"). Such a tool may be absent for now.
 */
export function isOfSource(name: string): boolean {
  return name.startsWith("mcp__") || name.includes("*");
}

/** Returns true if an agent adds the tool to those of its toolkit (`AgentOptions.disable`). */
export function isOfAgent(name: string): boolean {
  return ["delegate", "search_tools", "skill", "wake_on_job"].includes(name);
}

function presetTools(
  preset: string,
  { toolsets, tools, hasSources }: Required<Pick<ToolChoice, "toolsets" | "tools"> & Pick<ToolPlace, "hasSources">>,
  options: ToolOptionsByName,
): readonly Tool[] {
  const taken = Object.keys(toolsets).find((name) => isPreset(name));
  if (taken !== undefined) throw new TypeError(`toolsets: "${taken}" is the name of a preset; choose another`);
  if (isPreset(preset)) return PRESETS[preset](options);
  const names = Object.hasOwn(toolsets, preset) ? toolsets[preset] : undefined;
  if (names === undefined) {
    const known = [...Object.keys(PRESETS), ...Object.keys(toolsets)].join(", ");
    throw new TypeError(`no preset ${JSON.stringify(preset)}: expected one of ${known}`);
  }
  const given = tools.filter(({ name }) => names.includes(name));
  const unknown = names.find(
    (name) => !isBuiltIn(name) && !isOfSource(name) && name !== "delegate" && !given.some((tool) => tool.name === name),
  );
  if (unknown !== undefined && !hasSources)
    throw new TypeError(`toolset "${preset}": there is no tool ${JSON.stringify(unknown)}`);
  return [...new Set(names)].flatMap((name) => {
    const own = given.find((tool) => tool.name === name);
    return own ?? (isBuiltIn(name) ? builtIn([name], options) : []);
  });
}

function isPreset(name: string): name is PresetName {
  return Object.hasOwn(PRESETS, name);
}

function isBuiltIn(name: string): name is BuiltInName {
  return Object.hasOwn(BUILT_IN, name);
}
