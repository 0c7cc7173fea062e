import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** Tools that only read. */
export const readonly = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["read", "grep", "find", "ls"], options);
