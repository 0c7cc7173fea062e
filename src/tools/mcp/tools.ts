import type { Client, Progress, Tool as ListedTool } from "@modelcontextprotocol/client";
import { isReadable, text } from "../../core/contract/content.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Json } from "../../core/contract/schema.ts";
import type { Tool, ToolContext } from "../../core/contract/tool.ts";
import { foreignTool } from "../../core/call/foreign-tool.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { messageOf } from "../../core/util/errors.ts";
import { activeTraceparent } from "../../core/util/trace.ts";
import { clip } from "../../core/util/text.ts";
import { matchesWildcard } from "../../core/util/wildcard.ts";
import { type Received, receivedFrom, receivedResource } from "./content.ts";
import { toolName } from "./names.ts";

/** The maximum length of a failed call's error, in characters. */
const MAX_ERROR = 10_000;

/** Options of a request that a call makes. */
interface CallOptions {
  readonly signal: AbortSignal;
  /** In milliseconds. */
  readonly timeout: number;
  onprogress(progress: Progress): void;
}

/** Does work with a live connection of the server, for a call. Rejects with a `ToolFailure` that names the server. */
export type WithClient = <T>(context: ToolContext, work: ClientWork<T>) => Promise<T>;

export type ClientWork<T> = (client: Client, options: CallOptions) => Promise<T>;

export interface ToolsOptions {
  /** The name in the configuration. */
  readonly server: string;
  /** Patterns for the server's own names of tools. Default: all. */
  readonly allowed?: readonly string[] | undefined;
  readonly withClient: WithClient;
  readonly notice: (text: string) => void;
}

/** Returns the toolkit's name for a server's source. */
export function sourceName(server: string): string {
  return `mcp:${server}`;
}

/** Creates the allowed tools of a server. Omits unusable ones, with a notice. */
export function toolsOf(listed: readonly ListedTool[], { server, allowed, withClient, notice }: ToolsOptions): Tool[] {
  for (const pattern of allowed ?? []) {
    if (listed.some(({ name }) => matchesWildcard(pattern, name))) continue;
    notice(`${sourceName(server)} has no tool ${JSON.stringify(pattern)}, which its configuration names.`);
  }
  return listed
    .filter(({ name }) => allowed === undefined || allowed.some((pattern) => matchesWildcard(pattern, name)))
    .flatMap((tool) => {
      try {
        return [toolOf(tool, { server, withClient })];
      } catch (error) {
        notice(`${sourceName(server)}: the tool ${tool.name} is left out: ${messageOf(error)}.`);
        return [];
      }
    });
}

function toolOf(listed: ListedTool, { server, withClient }: Pick<ToolsOptions, "server" | "withClient">): Tool {
  const { name, annotations = {}, inputSchema, outputSchema } = listed;
  return foreignTool({
    ...{
      from: sourceName(server),
      tool: name,
      name: toolName(server, name),
      schema: inputSchema,
      output: outputSchema,
    },
    title: listed.title ?? annotations.title,
    description: listed.description ?? `The tool ${name} of MCP server ${server}.`,
    destructive: annotations.destructiveHint === true,
    async run(input, context) {
      const params = { name, arguments: input as { [name: string]: unknown }, ...traceMeta() };
      const result = await withClient(context, (client, options) => client.callTool(params, options));
      const received = receivedFrom(result);
      if (result.isError !== true) return attached(received, context);
      const message = received.parts.flatMap((part) => (isReadable(part) ? [part.text] : [])).join("\n");
      throw new ToolFailure(clip(message, MAX_ERROR), {
        content: received.parts.filter((part) => !isReadable(part)),
        foreign: true,
      });
    },
    render: () => [],
  });
}

/** The key that the specification reserves for it in `_meta` (SEP-414). Baggage is not passed on. */
function traceMeta(): { readonly _meta?: { readonly traceparent: string } } {
  const traceparent = activeTraceparent();
  return traceparent === undefined ? {} : { _meta: { traceparent } };
}

/** Creates the tool that reads a server's resources. Without arguments it lists them. */
export function resourceTool({ server, withClient }: Pick<ToolsOptions, "server" | "withClient">): Tool {
  return foreignTool({
    ...{ from: sourceName(server), tool: "read_resource", name: toolName(server, "read_resource") },
    description: `Reads a resource of MCP server ${server} by its URI. Without a URI, lists its resources.`,
    schema: { type: "object", properties: { uri: { type: "string" } }, additionalProperties: false },
    run: (input, context) =>
      withClient(context, async (client, options) => {
        const { uri } = input as { readonly uri?: string };
        if (uri !== undefined) return attached(receivedResource(await client.readResource({ uri }, options)), context);
        const [{ resources }, { resourceTemplates }] = await Promise.all([
          client.listResources({}, options),
          client.listResourceTemplates({}, options).catch(() => ({ resourceTemplates: [] })),
        ]);
        const lines = [
          ...resources.map((each) => describe(each.uri, each)),
          ...resourceTemplates.map((each) => describe(each.uriTemplate, each)),
        ];
        const list = lines.join("\n") || "There are no resources.";
        return attached({ parts: [text(list)], data: list }, context);
      }),
    render: () => [],
  });
}

function describe(
  uri: string,
  { name, description }: { readonly name: string; readonly description?: string | undefined },
) {
  return oneLine(`${uri} (${name})${description === undefined ? "" : `: ${description}`}`, 500);
}

/** Attaches the parts for the model, and returns the data: the two may differ. */
function attached({ parts, data }: Received, context: ToolContext): Json {
  for (const part of parts) context.attach(part);
  return data;
}
