import type { Tool } from "../../core/contract/tool.ts";
import { BUILT_IN, SECOND_NAMES, type ToolOptionsByName } from "./built-in.ts";

/** Every built-in tool, with only one tool for each kind of work: `bash` for commands, `web_fetch` for pages. */
export const all = (options: ToolOptionsByName = {}): readonly Tool[] =>
  Object.entries(BUILT_IN)
    .filter(([name]) => !SECOND_NAMES.has(name))
    .map(([, make]) => make(options));
