import type { ContentBlock } from "@modelcontextprotocol/server";
import type { Content } from "../contract/content.ts";

/** Converts a part of a result to MCP. */
export function blockOf(part: Content): ContentBlock {
  if (part.type !== "resource") return { ...part };
  const { type, ...resource } = part;
  return { type, resource };
}
