import type { SandboxMode } from "../contract/containment.ts";
import type { Autonomy } from "../contract/policy.ts";
import type { TargetKind } from "../contract/target.ts";
import type { DefinitionFormat } from "../contract/toolkit.ts";
import type { DebugLog } from "./log.ts";
import type { PresetName } from "../tools/presets/presets.ts";

/** The options that every command takes. None has a default here: what is not given is left to the files. */
export interface GlobalOptions {
  readonly config?: string;
  readonly preset?: string;
  readonly workDir?: string;
  /** Of another system, as a flag of its kind names it. Left out: this machine. */
  readonly target?: string;
  /** Kinds of targets beside those that Handrail comes with. */
  readonly targets?: readonly TargetKind[];
  readonly tmux?: true;
  readonly tmuxSession?: string;
  readonly autonomy?: Autonomy;
  readonly sandbox?: SandboxMode;
  readonly yes?: true;
  readonly logFile?: string;
  /** What `logFile`, or the configuration, asks for. */
  readonly log?: DebugLog;
}

// Said here again so that printing the help loads no tool; the types hold the lists together.
const PRESETS: { readonly [name in PresetName]: true } = {
  coding: true,
  readonly: true,
  web: true,
  workspace: true,
  operator: true,
  default: true,
  assistant: true,
  all: true,
  none: true,
};
export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS);
export const SANDBOX_MODES: readonly SandboxMode[] = ["auto", "on", "off"];
export const AUTONOMIES: readonly Autonomy[] = ["readonly", "supervised", "full"];

/** What `handrail tools --format` takes. */
export const TOOL_FORMATS: readonly ("table" | DefinitionFormat)[] = [
  "table",
  "json",
  "openai",
  "openai-responses",
  "anthropic",
  "gemini",
  "mcp",
];
