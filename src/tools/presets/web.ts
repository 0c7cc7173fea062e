import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** Searches the web and reads pages. */
export const web = (options?: ToolOptionsByName): readonly Tool[] => builtIn(["web_search", "web_fetch"], options);
