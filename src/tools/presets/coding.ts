import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** The tools of a coding agent; the default. */
export const coding = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["read", "bash", "edit", "write", "jobs"], options);
