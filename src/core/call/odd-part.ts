import { tried } from "../util/errors.ts";
import { isRecord } from "../util/record.ts";

/** Longer texts that look like base64 are left out of JSON: a model cannot read them. In characters. */
const LONG = 400;

/** What base64 does not have. Searching for it takes no stack; matching megabytes of digits does. */
const NO_BASE64 = /[^A-Za-z0-9+/_=\s-]/;

/** Returns what can be read of a faulty part of a result: its text, otherwise all of it as JSON. */
export function readableOf(part: unknown): string {
  if (typeof part === "string") return part;
  if (isRecord(part) && typeof part["text"] === "string") return part["text"];
  return jsonOf(isRecord(part) && part["type"] === "text" && "text" in part ? part["text"] : part);
}

/** As `readableOf`, for a part that another program sent. A sentence before JSON says that the tool has run. */
export function notedOf(part: unknown): string {
  const text = readableOf(part);
  if (!isRecord(part) || typeof part["text"] === "string" || part["type"] === "text") return text;
  return `[The tool has run. This part of its result is not as the protocol defines it; as JSON:]\n${text}`;
}

/** Returns a value as JSON, without long base64. Never throws. */
export function jsonOf(value: unknown): string {
  const json = tried(() =>
    JSON.stringify(value, (_, each: unknown) =>
      typeof each === "string" && each.length >= LONG && !NO_BASE64.test(each)
        ? `[${each.length} characters of base64]`
        : each,
    ),
  );
  return json ?? typeof value;
}
