import type { CallToolResult, ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";
import { type Content, isReadable, text } from "../../contract/content.ts";
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

/** Converts a part. Models get a note for types that they do not accept (see `Content`). */
export function partOf(block: ContentBlock): Content {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "image":
      return IMAGES.has(block.mimeType) && isBase64(block.data)
        ? { type: "image", data: block.data, mimeType: block.mimeType }
        : leftOut("image", block.mimeType, block.data);
    case "audio":
      return isBase64(block.data)
        ? { type: "audio", data: block.data, mimeType: block.mimeType }
        : leftOut("audio", block.mimeType, block.data);
    case "resource_link":
      return text(`[Resource ${block.name}: ${block.uri}]`);
    case "resource": {
      const { uri, mimeType, ...content } = block.resource;
      const described = { type: "resource" as const, uri, ...(mimeType !== undefined && { mimeType }) };
      if ("text" in content) return { ...described, text: content.text };
      // A model sees a picture, whatever carries it.
      if (mimeType !== undefined && IMAGES.has(mimeType) && isBase64(content.blob))
        return { type: "image", data: content.blob, mimeType };
      return isBase64(content.blob)
        ? { ...described, blob: content.blob }
        : leftOut(`resource ${uri}`, mimeType ?? "unknown type", content.blob);
    }
  }
}

function leftOut(what: string, mimeType: string, data: string): Content {
  return text(`[Left out: ${what}, ${mimeType}, ${data.length} characters of base64]`);
}

function isBase64(data: string): boolean {
  return data.length > 0 && data.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(data.replace(/={1,2}$/, ""));
}

function textParts(parts: readonly Content[]): string {
  return parts.flatMap((part) => (isReadable(part) ? [part.text] : [])).join("\n");
}
