import type { ScriptShell } from "../../contract/backend.ts";
import type { MemoryScope } from "../../contract/memory.ts";
import type { Tool } from "../../contract/tool.ts";
import { BUILT_IN, type BuiltInName, TERMINAL_TOOLS, type ToolOptionsByName, builtIn } from "./built-in.ts";
import { PRESETS, type PresetName } from "./presets.ts";

/** Which tools there are to be. */
export interface ToolChoice {
  /** A named toolset, or one of `toolsets`. Default: "coding", or "none" when `tools` are given. */
  readonly preset?: PresetName | (string & {});
  /** Presets of yours: names of Handrail's tools and of `tools`. A preset's own name cannot be taken. */
  readonly toolsets?: { readonly [name: string]: readonly string[] };
  /** Tools of yours, beside those of the preset. One that toolsets name is only in those. */
  readonly tools?: readonly Tool[];
  /** Tools that are left out, by name. */
  readonly disable?: readonly string[];
  /** Options of Handrail's tools, by name; those of a tool that is not there are of no effect. */
  readonly toolOptions?: ToolOptionsByName;
}

/** What there is where the tools work. */
export interface ToolPlace {
  /** Commands run in a sandbox, and the tools that run them offer what can be asked of it. Default false. */
  readonly sandboxed?: boolean;
  /** What runs commands. Default "bash". */
  readonly shell?: ScriptShell;
  /** Who shares memories. Default "user". */
  readonly memoryScope?: MemoryScope;
  /** There is a live terminal. Without one its tools are left out, wherever they are named. Default false. */
  readonly terminal?: boolean;
}

/**
 * The tools that are chosen.
 *
 * @throws TypeError when there is no preset, toolset or tool of a name, and when a toolset has a preset's name.
 */
export function chosenTools(
  { toolsets = {}, tools, disable = [], toolOptions = {}, ...choice }: ToolChoice,
  { sandboxed = false, shell = "bash", terminal = false, memoryScope: scope = "user" }: ToolPlace = {},
): readonly Tool[] {
  const { preset = tools === undefined ? "coding" : "none" } = choice;
  const options = {
    ...toolOptions,
    bash: { sandboxed, shell, terminal, ...toolOptions.bash },
    shell: { sandboxed, shell, ...toolOptions.shell },
    memory_store: { scope, ...toolOptions.memory_store },
    memory_recall: { scope, ...toolOptions.memory_recall },
    memory_forget: { scope, ...toolOptions.memory_forget },
    run_shell: { sandboxed, shell, terminal, ...toolOptions.run_shell },
  };
  const named = new Set(Object.values(toolsets).flat());
  const beside = (tools ?? []).filter(({ name }) => !named.has(name));
  const own = presetTools(preset, { toolsets, tools: tools ?? [] }, options);
  const all = [...own.filter(({ name }) => terminal || !TERMINAL_TOOLS.has(name)), ...beside];
  const unknown = disable.find((name) => !isBuiltIn(name) && !all.some((tool) => tool.name === name));
  if (unknown !== undefined) throw new TypeError(`disable: there is no tool ${JSON.stringify(unknown)}`);
  return all.filter(({ name }) => !disable.includes(name));
}

function presetTools(
  preset: string,
  { toolsets, tools }: Required<Pick<ToolChoice, "toolsets" | "tools">>,
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
  const unknown = names.find((name) => !isBuiltIn(name) && !given.some((tool) => tool.name === name));
  if (unknown !== undefined) throw new TypeError(`toolset "${preset}": there is no tool ${JSON.stringify(unknown)}`);
  const builtInNames = names.filter(isBuiltIn).filter((name) => !given.some((tool) => tool.name === name));
  return [...builtIn([...new Set(builtInNames)], options), ...given];
}

function isPreset(name: string): name is PresetName {
  return Object.hasOwn(PRESETS, name);
}

function isBuiltIn(name: string): name is BuiltInName {
  return Object.hasOwn(BUILT_IN, name);
}
