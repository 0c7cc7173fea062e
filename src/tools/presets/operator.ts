import type { Tool } from "../../contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/**
 * Looks after machines, in a terminal that people see (seed 000). Its policy is in policies.ts: it works on the whole machine, with a
 * person's leave outside the working directory. Its web tools join it when they are built.
 */
export const operator = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["run_shell", "read_file", "write_file", "capture-pane", "send-keys", "time"], options);
