import { pathToFileURL } from "node:url";
import { type ToolDefinition, type Tool, defineTool } from "../../core/contract/tool.ts";
import type { Json, JsonSchema } from "../../core/contract/schema.ts";
import type { ToolSource } from "../../core/contract/tool-source.ts";
import type { SourceGuards } from "../../core/call/restarting.ts";
import { isRecord } from "../../core/util/record.ts";
import { pluginName } from "./plugin.ts";

/** The source's name in messages: "module:weather" for "/app/tools/weather.mjs". */
export function moduleName(path: string): string {
  return `module:${pluginName(path)}`;
}

/**
 * A JavaScript module as a source of tools. It runs in this process, with all its rights; the policy judges the effects
 * that its tools declare. Its default export is a tool (`defineTool`, or the argument of it) or a list of them.
 *
 * @param path an absolute path
 * @param options.copy returns the file to load in its place. Default: the path
 */
export function moduleSource(
  path: string,
  { mayStart, copy = async () => path }: Pick<SourceGuards, "mayStart"> & { readonly copy?: () => Promise<string> },
): ToolSource {
  const name = moduleName(path);
  return {
    name,
    async start({ notice, set }) {
      const why = await mayStart?.();
      if (why !== undefined) return notice(`${name} ${why}`);
      const { default: given } = (await import(pathToFileURL(await copy()).href)) as { readonly default?: unknown };
      set((Array.isArray(given) ? given : [given]).map(toolOf));
    },
    close: async () => {},
  };
}

function toolOf(given: unknown): Tool {
  const { name, description, input, run } = isRecord(given) ? given : {};
  const isTool =
    typeof name === "string" && typeof description === "string" && isRecord(input) && typeof run === "function";
  if (!isTool) {
    throw new TypeError(
      "expected the default export to be a tool (defineTool) or a list of tools, each with name, description, input " +
        "and run",
    );
  }
  return defineTool(given as ToolDefinition<JsonSchema, Json>);
}
