import type { Content } from "../contract/content.ts";
import { imageType } from "./image.ts";

type Picture = Extract<Content, { type: "image" }>;

/**
 * Returns a picture as models take it, with the type that its bytes have, whatever its label says; `undefined` for
 * bytes that are no PNG, JPEG, GIF or WebP. One label that is wrong would end a conversation: providers refuse every
 * request that has it.
 *
 * @param data base64, also with line breaks, in the alphabet for URLs, without its end, or as a data URL
 */
export function pictureOf(data: string): Picture | undefined {
  const base64 = plainBase64(data);
  const mimeType = base64 === undefined ? undefined : imageType(Buffer.from(base64.slice(0, 24), "base64"));
  return base64 === undefined || mimeType === undefined ? undefined : { type: "image", data: base64, mimeType };
}

/** Returns base64 in its plain form; `undefined` for text that is none. */
export function plainBase64(data: string): string | undefined {
  if (data !== "" && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)) return data;
  const bare = data
    .replace(/^data:[^,]*,/i, "")
    .replaceAll(/\s+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  const digits = bare.replace(/={1,2}$/, "");
  if (digits.length % 4 === 1 || !/^[A-Za-z0-9+/]+$/.test(digits)) return undefined;
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, "=");
}
