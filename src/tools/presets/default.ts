import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** Commands and files. */
export const defaultTools = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["shell", "file_read", "file_write"], options);
