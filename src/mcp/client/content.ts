import type { CallToolResult, ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";
import { type Content, text } from "../../contract/content.ts";
import type { Json } from "../../contract/schema.ts";

/** The image types that models accept: see `Content`. */
const IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The result of a server: parts for the model, and data for programs. */
export interface Received {
  readonly parts: readonly Content[];
  readonly data: Json;
}

/** Converts the result of a tool. If it has structured content and no text, the model reads that as JSON. */
export function receivedFrom({ content, structuredContent }: CallToolResult): Received {
  const parts = content.map(partOf);
  const structured = structuredContent as Json | undefined;
  if (structured === undefined)
    return { parts: parts.length === 0 ? [text("(no content)")] : parts, data: textParts(parts) };
  const hasText = content.some(({ type }) => type === "text");
  return { parts: hasText ? parts : [text(jsonOf(structured, content)), ...parts], data: structured };
}

/** Returns the structured content as JSON. Some servers repeat their pictures in it: base64 of parts is left out. */
function jsonOf(structured: Json, content: readonly ContentBlock[]): string {
  const shown = new Set(content.map(base64Of));
  return JSON.stringify(structured, (_, value: unknown) => {
    return typeof value === "string" && shown.has(value) ? `[${value.length} characters of base64]` : value;
  });
}

function base64Of(block: ContentBlock): string | undefined {
  if (block.type === "image" || block.type === "audio") return block.data;
  return block.type === "resource" && "blob" in block.resource ? block.resource.blob : undefined;
}

/** Converts a resource that was read. */
export function receivedResource({ contents }: ReadResourceResult): Received {
  const parts = contents.map((resource) => partOf({ type: "resource", resource }));
  return { parts, data: textParts(parts) };
}

/** Converts a part. Types that no model accepts become a note that names them. */
export function partOf(block: ContentBlock): Content {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "image":
    case "audio":
      return binary(block.type, block.data, block.mimeType);
    case "resource_link":
      return text(`[Resource ${block.name}: ${block.uri}]`);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return text(resource.text);
      return binary(`resource ${resource.uri}`, resource.blob, resource.mimeType ?? "unknown type");
    }
  }
}

function binary(what: string, data: string, mimeType: string): Content {
  if (IMAGES.has(mimeType) && isBase64(data)) return { type: "image", data, mimeType };
  return text(`[Left out: ${what}, ${mimeType}, ${data.length} characters of base64]`);
}

function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(data.replace(/={1,2}$/, ""));
}

function textParts(parts: readonly Content[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
