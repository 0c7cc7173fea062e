import type { Tool } from "../../contract/tool.ts";
import type { ToolOptionsByName } from "./built-in.ts";
import { defaultTools } from "./default.ts";

/**
 * The personal assistant of seed 003. So far it has the tools of `default` and no others: memory, schedules, the web and sub-agents are not
 * built yet, and join it when they are.
 */
export const assistant = (options?: ToolOptionsByName): readonly Tool[] => defaultTools(options);
