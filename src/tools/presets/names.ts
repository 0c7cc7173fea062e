import type { PresetName } from "./presets.ts";

// Apart from the presets, so that printing the help loads no tool. The type keeps the lists equal.
const NAMES: { readonly [name in PresetName]: true } = {
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

/** The names of the presets. */
export const PRESET_NAMES: readonly string[] = Object.keys(NAMES);
