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

/** What is no digit of base64. Searching for one takes no stack; matching megabytes of digits does. */
const NO_DIGIT = /[^A-Za-z0-9+/]/;

/** Returns base64 in its plain form; `undefined` for text that is none. */
export function plainBase64(data: string): string | undefined {
  if (data !== "" && data.length % 4 === 0 && !NO_DIGIT.test(withoutEnd(data))) return data;
  const bytes = /^data:/i.test(data) ? data.slice(data.indexOf(",") + 1) : data;
  const digits = withoutEnd(bytes.replaceAll(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/"));
  if (digits === "" || digits.length % 4 === 1 || NO_DIGIT.test(digits)) return undefined;
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, "=");
}

function withoutEnd(data: string): string {
  return data.endsWith("==") ? data.slice(0, -2) : data.endsWith("=") ? data.slice(0, -1) : data;
}
