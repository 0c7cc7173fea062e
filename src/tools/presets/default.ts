import type { Tool } from "../../contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** Commands and files. Names and texts: seed 003. */
export const defaultTools = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["shell", "file_read", "file_write"], options);
