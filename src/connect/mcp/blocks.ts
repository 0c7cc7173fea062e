import type { ContentBlock } from "@modelcontextprotocol/server";
import type { Content } from "../../core/contract/content.ts";

/** Converts a part of a result to MCP, with the fields that it knows: clients refuse a result with others. */
export function blockOf(part: Content): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type !== "resource") return { type: part.type, data: part.data, mimeType: part.mimeType };
  const { uri, mimeType } = part;
  const content = "text" in part ? { text: part.text } : { blob: part.blob };
  return { type: "resource", resource: { uri, ...(mimeType !== undefined && { mimeType }), ...content } };
}
