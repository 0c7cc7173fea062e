import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import type { Asking, Calls } from "./calls.ts";
import { capabilitiesOf, serveOffering } from "./offered.ts";
import type { Offering } from "../../tools/mcp/offering.ts";

/** The maximum size of a client's message, which is held in memory, in bytes: 64 MiB. Longer messages are refused. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export interface ServerSettings extends Offering {
  /** The reported version of the server. */
  readonly version: string;
  /** Makes the calls. Shared by all servers between which a client may switch during a call. */
  readonly calls: Calls;
  /** "legacy" for up to revision 2025-11-25; "modern" for 2026-07-28 and later. */
  readonly era: "legacy" | "modern";
  /**
   * Returns whether the client's elicitation reaches a person. Called if a client has elicitation. Default: it does.
   */
  readonly canAsk?: () => boolean;
}

/**
 * Creates the MCP server of a toolkit, for any transport: tools, resources, prompts and completions. Schemas are passed
 * to the client, and arguments to the toolkit, unchanged: the engine validates them, so that errors are the same
 * everywhere. The caller must report changes of the tools (`tellChanged`).
 */
export function createServer(toolkit: Toolkit, settings: ServerSettings): Server {
  const { version, calls, era, canAsk = () => true } = settings;
  const server = new Server(
    { name: "handrail", version },
    { capabilities: capabilitiesOf(settings), instructions: instructionsOf(toolkit) },
  );
  serveOffering(server, toolkit, settings);
  server.setRequestHandler("tools/list", () => ({ tools: toolkit.definitions("mcp") ?? [] }));
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const asking = askingOf(server, era, context);
    return calls.answer(params, context, asking !== undefined && canAsk() ? asking : undefined);
  });
  return server;
}

/** Tells the client that tools have changed, and with them, if it has some, prompts of other servers. Never rejects. */
export async function tellChanged(server: Server): Promise<void> {
  const hasPrompts = server.getCapabilities().prompts !== undefined;
  // A closed connection needs no notification.
  await Promise.allSettled([server.sendToolListChanged(), ...(hasPrompts ? [server.sendPromptListChanged()] : [])]);
}

function instructionsOf({ tools, backend }: Toolkit): string {
  const workDir = `Relative paths and commands start in ${backend.workDir} (${backend.name}).`;
  const reader = [...tools.values()].find(({ touches }) => touches.includes("output"));
  if (reader === undefined) return workDir;
  const saved = "A truncated result names its full output as output://ID";
  return `${workDir} ${saved}: read it with the ${reader.name} tool.`;
}

function askingOf(server: Server, era: ServerSettings["era"], { mcpReq }: ServerContext): Asking | undefined {
  const revision = server.getNegotiatedProtocolVersion() ?? "";
  if (era === "modern") {
    // The SDK has checked that the request has it.
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

/**
 * Returns whether the client supports forms. Before there were kinds of elicitation (2025-11-25), clients declared it
 * as `{}`.
 */
function hasForms(capabilities: ClientCapabilities | undefined): boolean {
  const kinds = capabilities?.elicitation;
  return kinds !== undefined && ("form" in kinds || !("url" in kinds));
}
