import type { Tool } from "../../contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** The personal assistant of seed 003: commands, files, memory and the web. */
export const assistant = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(
    [
      ...(["shell", "file_read", "file_write"] as const),
      ...(["memory_store", "memory_recall", "memory_forget"] as const),
      ...(["http_request", "web_fetch"] as const),
    ],
    options,
  );
