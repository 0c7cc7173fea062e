import type { Tool } from "../../contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** What a coding agent needs (seed 004). The default. */
export const coding = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["read", "bash", "edit", "write", "jobs"], options);
