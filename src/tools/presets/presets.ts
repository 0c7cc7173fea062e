import type { Tool } from "../../core/contract/tool.ts";
import { all } from "./all.ts";
import { assistant } from "./assistant.ts";
import type { ToolOptionsByName } from "./built-in.ts";
import { coding } from "./coding.ts";
import { defaultTools } from "./default.ts";
import { operator } from "./operator.ts";
import { readonly } from "./readonly.ts";
import { web } from "./web.ts";
import { workspace } from "./workspace.ts";

/** The presets, as factories: `PRESETS.coding()`. Options are per tool, by name. */
export const PRESETS = {
  coding,
  readonly,
  web,
  workspace,
  operator,
  default: defaultTools,
  assistant,
  all,
  none: (): readonly Tool[] => [],
} satisfies { readonly [name: string]: (options?: ToolOptionsByName) => readonly Tool[] };

export type PresetName = keyof typeof PRESETS;
