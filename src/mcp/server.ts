import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Toolkit } from "../contract/toolkit.ts";
import type { Asking, Calls } from "./calls.ts";

export interface ServerSettings {
  /** What the server says its version is. */
  readonly version: string;
  /** Who makes the calls. One for all servers between which a client may move in the middle of a call. */
  readonly calls: Calls;
  /** "legacy": up to revision 2025-11-25; "modern": from 2026-07-28 on. */
  readonly era: "legacy" | "modern";
}

/**
 * The MCP server of a toolkit, for any transport: tools/list and tools/call. Schemas reach the client as the tools have them,
 * and arguments reach the toolkit as the client sent them: checking them is the engine's work, so that every way in says the
 * same.
 */
export function createServer(toolkit: Toolkit, { version, calls, era }: ServerSettings): Server {
  const server = new Server(
    { name: "handrail", version },
    { capabilities: { tools: {} }, instructions: instructionsOf(toolkit) },
  );
  const tools = toolkit.definitions("mcp") ?? [];
  server.setRequestHandler("tools/list", () => ({ tools }));
  server.setRequestHandler("tools/call", ({ params }, context) =>
    calls.answer(params, context, askingOf(server, era, context)),
  );
  return server;
}

function instructionsOf({ tools, backend }: Toolkit): string {
  const workDir = `Relative paths and commands start in ${backend.workDir} (${backend.name}).`;
  const reader = [...tools.values()].find(({ touches }) => touches.includes("output"));
  if (reader === undefined) return workDir;
  return `${workDir} A result that is too long names where all of it is, as output://ID: read that with the ${reader.name} tool.`;
}

function askingOf(server: Server, era: ServerSettings["era"], { mcpReq }: ServerContext): Asking | undefined {
  const revision = server.getNegotiatedProtocolVersion() ?? "";
  if (era === "modern") {
    // The SDK has checked that the request carries it.
    const envelope: { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined = mcpReq.envelope;
    return hasForms(envelope?.[CLIENT_CAPABILITIES_META_KEY]) ? { how: "answer", revision } : undefined;
  }
  if (!hasForms(server.getClientCapabilities())) return undefined;
  return {
    how: "request",
    revision,
    send: (form, options) => mcpReq.send({ method: "elicitation/create", params: { ...form } }, options),
  };
}

/** Before there were kinds of elicitation (2025-11-25) a client declared it as `{}` and meant forms. */
function hasForms(capabilities: ClientCapabilities | undefined): boolean {
  const kinds = capabilities?.elicitation;
  return kinds !== undefined && ("form" in kinds || !("url" in kinds));
}
