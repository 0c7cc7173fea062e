import type { Tool } from "../../core/contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** A personal assistant: commands, files, memory, schedules and the web. */
export const assistant = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(
    [
      ...(["shell", "file_read", "file_write"] as const),
      ...(["memory_store", "memory_recall", "memory_forget"] as const),
      ...(["cron_add", "cron_list", "cron_remove"] as const),
      ...(["http_request", "web_fetch", "browser"] as const),
    ],
    options,
  );
