import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/**
 * Administers machines, in a terminal that people see. Its policy is in policies.ts: it may work on the whole machine,
 * with approval outside the working directory. A search shows 8 results.
 */
export const operator = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["run_shell", "read_file", "write_file", "fetch_url", "web_search", "capture-pane", "send-keys", "time"], {
    ...options,
    web_search: { maxResults: 8, ...options?.web_search },
  });
