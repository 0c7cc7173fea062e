import { join } from "node:path";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import type { Toolkit } from "../../../src/core/contract/toolkit.ts";
import type { SourceGuards } from "../../../src/core/call/restarting.ts";
import { type McpSource, type ServerSettings, mcpServer } from "../../../src/tools/mcp/source.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

/** The fixture program as a server. */
export function foreign(era: string, settings: Partial<ServerSettings> = {}): ServerSettings {
  const args = [join(projectRoot, "test", "fixtures", "mcp", "foreign-server.mjs"), era];
  return { command: process.execPath, args, within: "none", ...settings };
}

/** A server with this fault. */
export function hostile(way: string, settings: Partial<ServerSettings> = {}): ServerSettings {
  const args = [join(projectRoot, "test", "fixtures", "mcp", "hostile-server.mjs"), way];
  return { command: process.execPath, args, within: "none", ...settings };
}

export interface WithServers {
  readonly toolkit: Toolkit;
  readonly sources: readonly McpSource[];
  readonly notices: readonly string[];
}

/** A toolkit with only these servers, once all have started or failed. */
export async function withServers(
  servers: { readonly [name: string]: ServerSettings },
  options: ToolkitOptions = {},
  source: SourceGuards = {},
): Promise<WithServers> {
  const notices: string[] = [];
  const sources = Object.entries(servers).map(([name, settings]) => mcpServer(name, settings, source));
  const toolkit = await toolkitWith({
    ...{ preset: "none", workDir: await workspace(), policy: { autonomy: "full" } },
    onNotice: (text) => notices.push(text),
    ...options,
    sources,
  });
  await toolkit.ready;
  return { toolkit, sources, notices };
}
