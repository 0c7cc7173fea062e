import type { Tool } from "../../contract/tool.ts";
import { BUILT_IN, type ToolOptionsByName } from "./built-in.ts";

/** Every tool once. */
export const all = (options: ToolOptionsByName = {}): readonly Tool[] =>
  Object.values(BUILT_IN).map((make) => make(options));
