import { type Content, isReadable } from "../contract/content.ts";
import { formatSize } from "./size.ts";

/** Returns what a model reads in a part: its text, or a note with the type and size of what it cannot read as text. */
export function partText(part: Content): string {
  if (isReadable(part)) return part.text;
  if (part.type === "resource") return noteOf(`Resource ${part.uri}`, part.mimeType ?? "unknown type", part.blob);
  return noteOf(part.type === "image" ? "Image" : "Audio", part.mimeType, part.data);
}

/** Returns what a model reads in parts, joined by line feeds. */
export function partsText(parts: readonly Content[] = []): string {
  return parts.map(partText).join("\n");
}

function noteOf(what: string, mimeType: string, base64: string): string {
  return `[${what}: ${mimeType}, ${formatSize(Buffer.byteLength(base64, "base64"))}]`;
}
