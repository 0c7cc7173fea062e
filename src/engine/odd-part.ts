import { tried } from "../util/errors.ts";
import { isRecord } from "../util/record.ts";

/** Longer texts that look like base64 are left out of JSON: a model cannot read them. */
const LONG_BASE64 = /^[A-Za-z0-9+/_=\s-]{400,}$/;

/** Returns what can be read of a part of a result that is not as it should be: its text, otherwise all of it as JSON. */
export function readableOf(part: unknown): string {
  if (typeof part === "string") return part;
  if (isRecord(part) && typeof part["text"] === "string") return part["text"];
  return jsonOf(isRecord(part) && part["type"] === "text" && "text" in part ? part["text"] : part);
}

/** Does the same for a part that another program sent. What is JSON then is called so: a model reads it as the answer. */
export function notedOf(part: unknown): string {
  const text = readableOf(part);
  if (!isRecord(part) || typeof part["text"] === "string" || part["type"] === "text") return text;
  return `[The tool has run. This part of its result is not as the protocol defines it; as JSON:]\n${text}`;
}

/** Returns a value as JSON, without long base64. Never throws. */
export function jsonOf(value: unknown): string {
  const json = tried(() =>
    JSON.stringify(value, (_, each: unknown) =>
      typeof each === "string" && LONG_BASE64.test(each) ? `[${each.length} characters of base64]` : each,
    ),
  );
  return json ?? typeof value;
}
