import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  type Server,
  UriTemplate,
} from "@modelcontextprotocol/server";
import { text } from "../../core/contract/content.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { formatSize } from "../../core/output/size.ts";
import { blockOf } from "./blocks.ts";
import type { OfferedPrompt, OfferedResource, Offering, Values } from "../../tools/mcp/offering.ts";

/** The largest saved output that is read as one resource, in bytes. Tools read any size in parts. */
const MAX_OUTPUT = 8 * 1024 * 1024;
/** The most completions of one answer, as the protocol allows. */
const MAX_COMPLETIONS = 100;

/** The capabilities of a server with this offering. */
export function capabilitiesOf({ prompts }: Offering) {
  return {
    tools: { listChanged: true },
    resources: {},
    ...(prompts !== undefined && { prompts: { listChanged: true }, completions: {} }),
  };
}

/** Answers the requests for resources, prompts and completions. */
export function serveOffering(server: Server, { outputs }: Pick<Toolkit, "outputs">, offering: Offering): void {
  const { prompts } = offering;
  const saved: OfferedResource = {
    ...{ uri: "output://{id}", name: "saved output" },
    description: "The full output of a call whose result was truncated. The result names it.",
    read: (uri, { id = "" }) => readOutput(uri, id, outputs),
  };
  const all = [saved, ...(offering.resources ?? [])].map((resource) => ({
    ...{ resource, template: new UriTemplate(resource.uri), isTemplate: UriTemplate.isTemplate(resource.uri) },
  }));
  server.setRequestHandler("resources/list", () => ({
    resources: all.filter(({ isTemplate }) => !isTemplate).map(({ resource: { read: _, ...listed } }) => listed),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: all
      .filter(({ isTemplate }) => isTemplate)
      .map(({ resource: { read: _, uri: uriTemplate, ...listed } }) => ({ uriTemplate, ...listed })),
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, { mcpReq }): Promise<ReadResourceResult> => {
    for (const { resource, template, isTemplate } of all) {
      const values = isTemplate ? template.match(uri) : uri === resource.uri ? {} : null;
      if (values === null) continue;
      const content = await resource.read(uri, values as Values, mcpReq.signal);
      return { contents: [contentsOf(uri, content, resource.mimeType)] };
    }
    throw new ResourceNotFoundError(uri);
  });
  if (prompts === undefined) return;
  const promptOf = (name: string): OfferedPrompt => {
    const found = prompts().find((prompt) => prompt.name === name);
    if (found === undefined) throw invalid(`there is no prompt ${JSON.stringify(name)}. prompts/list names them all`);
    return found;
  };
  server.setRequestHandler("prompts/list", () => ({
    prompts: prompts().map(({ name, title, description, arguments: given = [] }) => ({
      ...{ name, title, description, arguments: given.map((argument) => ({ ...argument })) },
    })),
  }));
  server.setRequestHandler("prompts/get", async ({ params: { name, arguments: values = {} } }, { mcpReq }) => {
    const prompt = promptOf(name);
    const missing = prompt.arguments?.find((argument) => argument.required && values[argument.name] === undefined);
    if (missing !== undefined) throw invalid(`the prompt ${name} expects the argument ${JSON.stringify(missing.name)}`);
    const given = await prompt.get(values, mcpReq.signal);
    const messages = typeof given === "string" ? [{ role: "user" as const, content: text(given) }] : given;
    return { messages: messages.map(({ role, content }) => ({ role, content: blockOf(content) })) };
  });
  server.setRequestHandler("completion/complete", async ({ params: { ref, argument } }, { mcpReq }) => {
    const found =
      ref.type === "ref/prompt"
        ? ((await promptOf(ref.name).complete?.(argument.name, argument.value, mcpReq.signal)) ?? [])
        : [];
    const values = found.slice(0, MAX_COMPLETIONS);
    return { completion: { values, total: found.length, hasMore: values.length < found.length } };
  });
}

function contentsOf(uri: string, content: string | Uint8Array, mimeType: string | undefined) {
  const described = { uri, ...(mimeType !== undefined && { mimeType }) };
  return typeof content === "string"
    ? { ...described, text: content }
    : { ...described, blob: Buffer.from(content).toString("base64") };
}

/** Reads a saved output: its text with secrets masked, or its bytes if it is not text. */
async function readOutput(uri: string, id: string, outputs: Toolkit["outputs"]): Promise<string | Uint8Array> {
  const file = await outputs.openMasked(id).catch(() => {
    throw new ResourceNotFoundError(uri);
  });
  try {
    const { size } = file.info;
    if (size > MAX_OUTPUT) {
      throw invalid(
        `${uri} has ${formatSize(size)}, more than ${formatSize(MAX_OUTPUT)}: read it in parts with a tool`,
      );
    }
    const bytes = await file.read(0, size);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return bytes;
    }
  } finally {
    await file.close();
  }
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
