import type { Tool } from "../../contract/tool.ts";
import { type ToolOptionsByName, builtIn } from "./built-in.ts";

/** The personal assistant of seed 003: commands, files and the web. Memory, schedules and sub-agents join it when they are built. */
export const assistant = (options?: ToolOptionsByName): readonly Tool[] =>
  builtIn(["shell", "file_read", "file_write", "http_request", "web_fetch"], options);
