import type { CallToolResult, ContentBlock, ReadResourceResult } from "@modelcontextprotocol/client";
import { type Content, isReadable, text } from "../../core/contract/content.ts";
import type { Json } from "../../core/contract/schema.ts";
import { pictureOf, plainBase64 } from "../../core/files/picture.ts";
import { isTooDeep } from "../../core/util/json.ts";

/** The result of a server: parts for the model, and data for programs. */
export interface Received {
  readonly parts: readonly Content[];
  readonly data: Json;
}

/** Converts the result of a tool. Structured content whose values are not in the texts is read as JSON. */
export function receivedFrom({ content, structuredContent }: CallToolResult): Received {
  const isDeep = isTooDeep(structuredContent, DEEPEST);
  const parts = [...content.map(partOf), ...(isDeep ? [text(TOO_DEEP)] : [])];
  const structured = isDeep ? undefined : (structuredContent as Json | undefined);
  if (structured === undefined)
    return { parts: parts.length === 0 ? [text(NO_CONTENT)] : parts, data: textParts(parts) };
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  if (texts.length === 0) return { parts: [text(jsonOf(structured, content)), ...parts], data: structured };
  const json = jsonOf(structured, content);
  const isShown = isIn(texts.join("\n"), JSON.parse(json) as Json);
  return { parts: isShown ? parts : [...parts, text(json)], data: structured };
}

/** Deeper data is left out: code that walks it would overflow its stack. */
const DEEPEST = 500;
const TOO_DEEP = `[Left out: structured content, nested more than ${DEEPEST} levels deep]`;
const NO_CONTENT = "(The tool has run. Its result has no content.)";

/** The most values that are looked for in a text. */
const MOST_VALUES = 1_000;

/** Whether a text says what the data says: it has each number and text in it. Of many, some are looked for. */
function isIn(words: string, data: Json): boolean {
  const values = valuesOf(data);
  const step = Math.max(1, Math.floor(values.length / MOST_VALUES));
  const isShown = (value: string) => words.includes(value) || words.includes(JSON.stringify(value).slice(1, -1));
  return values.every((value, index) => index % step !== 0 || isShown(value));
}

function valuesOf(data: Json): readonly string[] {
  if (typeof data === "object" && data !== null) return Object.values(data).flatMap((each) => valuesOf(each ?? null));
  return data === null || data === "" ? [] : [String(data)];
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
      return pictureOf(block.data) ?? leftOut("image", block.mimeType, block.data);
    case "audio": {
      const data = plainBase64(block.data);
      return data === undefined
        ? leftOut("audio", block.mimeType, block.data)
        : { type: "audio", data, mimeType: block.mimeType };
    }
    case "resource_link":
      return text(`[Resource ${block.name}: ${block.uri}]`);
    case "resource": {
      const { uri, mimeType, ...content } = block.resource;
      const described = { type: "resource" as const, uri, ...(mimeType !== undefined && { mimeType }) };
      if ("text" in content) return { ...described, text: content.text };
      // A model sees a picture, whatever carries it.
      const picture = pictureOf(content.blob);
      if (picture !== undefined) return picture;
      const blob = plainBase64(content.blob);
      return blob === undefined
        ? leftOut(`resource ${uri}`, mimeType ?? "unknown type", content.blob)
        : { ...described, blob };
    }
  }
}

function leftOut(what: string, mimeType: string, data: string): Content {
  return text(`[Left out: ${what}, ${mimeType}, ${data.length} characters of base64]`);
}

function textParts(parts: readonly Content[]): string {
  return parts.flatMap((part) => (isReadable(part) ? [part.text] : [])).join("\n");
}
