import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** Files, search and commands. */
export const workspace = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["read", "write", "edit", "bash", "grep", "find", "ls", "jobs"], options);
