import type { Autonomy } from "../contract/policy.ts";
import type { PresetName } from "../tools/presets/presets.ts";
import type { ToolkitOptions } from "../toolkit.ts";

/** The options that every command takes. */
export interface GlobalOptions {
  readonly preset: PresetName;
  readonly workDir?: string;
  readonly autonomy: Autonomy;
  readonly yes?: true;
}

// Said here again so that printing the help loads no tool; the types hold the lists together.
export const PRESET_NAMES: readonly PresetName[] = ["coding", "readonly", "workspace", "all", "none"];
export const AUTONOMIES: readonly Autonomy[] = ["readonly", "supervised", "full"];

/** Outputs that one `handrail call` saved can be read by the next. */
const OUTPUT_OWNER = "command-line";

/** What the options say of a toolkit. */
export function toolkitOptions({ preset, workDir, autonomy }: GlobalOptions): ToolkitOptions {
  return { preset, policy: { autonomy }, outputOwner: OUTPUT_OWNER, ...(workDir !== undefined && { workDir }) };
}
