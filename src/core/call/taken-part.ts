import type { Content } from "../contract/content.ts";
import { pictureOf, plainBase64 } from "../files/picture.ts";
import { formatSize } from "../output/size.ts";
import { clip } from "../util/text.ts";

/** The largest image that models take: 4.5 MB, as base64. The same holds for audio and other bytes. */
const MAX_BASE64 = 6_291_456;

/**
 * Returns the part as a model can take it: a picture by its bytes, and a note instead of what is no picture or too
 * large.
 */
export function takenPart(part: Content): Content {
  if ("text" in part) return part;
  const [data, label = "unknown type"] =
    part.type === "resource" ? [part.blob, part.mimeType] : [part.data, part.mimeType];
  const what = { image: "Image", audio: "Audio", resource: "Resource" }[part.type];
  if (data.length > MAX_BASE64) {
    const size = `${formatSize(data.length)} in base64; models take up to ${formatSize(MAX_BASE64)}`;
    return { type: "text", text: `[${what} left out: ${label}, ${size}]` };
  }
  if (part.type !== "image") return withBytes(part, data, label);
  const picture = pictureOf(data);
  if (picture?.data === data && picture.mimeType === label) return part;
  return picture ?? { type: "text", text: noPicture(data, label) };
}

/** The part with its base64 in the plain form, which clients of MCP check. */
function withBytes(part: Exclude<Content, { text: string }>, data: string, label: string): Content {
  const bytes = plainBase64(data);
  if (bytes === undefined) return { type: "text", text: `[Left out: ${clip(label, 60)} that is not in base64]` };
  if (part.type !== "resource") return { ...part, data: bytes, mimeType: label };
  return bytes === data ? part : { ...part, blob: bytes };
}

function noPicture(data: string, label: string): string {
  const bytes = Buffer.from(data, "base64");
  const begin = bytes
    .toString("latin1", 0, 40)
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .trim();
  const what = `${formatSize(bytes.length)} labelled ${clip(label, 60)}, beginning ${JSON.stringify(begin)}`;
  return `[Image left out: not a PNG, JPEG, GIF or WebP: ${what}]`;
}
