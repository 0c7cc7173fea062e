import type { Json } from "../contract/schema.ts";
import { DEFAULT_MAX_BYTES, truncateHead, truncateTail } from "../output/truncate.ts";

/** The deepest nesting that is kept: code that walks deeper data would overflow its stack. */
const MAX_DEPTH = 64;

/** The deepest nesting that is converted at all. */
const MOST_CONVERTED = 1_000;

/**
 * Converts what a tool returned to JSON: plain JSON is returned as it is, undefined becomes null, and anything else is
 * converted by `JSON.stringify` (dates become text). `undefined` when that fails, and for data with more than 1,000
 * levels.
 */
export function asJson(returned: unknown): Json | undefined {
  if (returned === undefined) return null;
  if (isPlainJson(returned, 0)) return returned as Json;
  try {
    const json = JSON.parse(JSON.stringify(returned)) as Json;
    return isDeeper(json, MOST_CONVERTED) ? undefined : json;
  } catch {
    return undefined;
  }
}

/**
 * Limits the text in the data to 51,200 bytes, keys included. Texts are truncated at the end that is not kept; lists
 * and objects keep the entries that fit. A mark shows each truncation. Returns the same value when it fits as a whole.
 */
export function boundJson(data: Json, keep: "head" | "tail"): Json {
  // UTF-8 takes at most three bytes per UTF-16 unit: most data need not be measured exactly.
  const fits = (bytesOf: (text: string) => number) => measure(data, 0, bytesOf) <= DEFAULT_MAX_BYTES;
  if (fits(({ length }) => 3 * length) || fits(Buffer.byteLength)) return data;
  return cut(data, { left: DEFAULT_MAX_BYTES }, keep, 0);
}

/** Whether a value is plain JSON. False if it is nested deeper than `MAX_DEPTH`: then `JSON.stringify` decides. */
function isPlainJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "boolean" || typeof value === "string") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    for (const entry of value) if (!isPlainJson(entry, depth + 1)) return false; // unlike `every`, it sees holes
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(value)) if (!isPlainJson(value[key as keyof typeof value], depth + 1)) return false;
  return true;
}

/** True for data that is nested deeper than `MAX_DEPTH`. */
function isDeeper(value: Json | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((entry) => isDeeper(entry, levels - 1));
}

/** Bytes of text, roughly: each value counts at least one byte. Stops above the limit. Infinite if data is too deep. */
function measure(value: Json, depth: number, bytesOf: (text: string) => number): number {
  if (typeof value === "string") return bytesOf(value) + 1;
  if (typeof value !== "object" || value === null) return 1;
  if (depth > MAX_DEPTH) return Infinity;
  let total = 1;
  const isList = Array.isArray(value);
  const fields: { readonly [key: string]: Json } = value as { readonly [key: string]: Json };
  for (const key of Object.keys(fields)) {
    total += measure(fields[key] ?? null, depth + 1, bytesOf) + (isList ? 0 : bytesOf(key));
    if (total > DEFAULT_MAX_BYTES) return total;
  }
  return total;
}

function cut(value: Json, budget: { left: number }, keep: "head" | "tail", depth: number): Json {
  budget.left -= 1;
  if (typeof value === "string") return cutText(value, budget, keep);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[left out: nested too deeply]";
  if (Array.isArray(value)) {
    const kept: Json[] = [];
    for (const entry of value) {
      if (budget.left <= 0) break;
      kept.push(cut(entry, budget, keep, depth + 1));
    }
    if (kept.length < value.length) kept.push(`[${value.length - kept.length} more left out]`);
    return kept;
  }
  const kept: [key: string, value: Json][] = [];
  const entries = Object.entries(value);
  for (const [key, entry] of entries) {
    budget.left -= Buffer.byteLength(key);
    if (budget.left <= 0) break;
    kept.push([key, cut(entry ?? null, budget, keep, depth + 1)]);
  }
  if (kept.length < entries.length) kept.push(["…", `[${entries.length - kept.length} more left out]`]);
  return Object.fromEntries(kept); // safe for the key "__proto__"
}

function cutText(value: string, budget: { left: number }, keep: "head" | "tail"): string {
  const truncate = keep === "head" ? truncateHead : truncateTail;
  const { text, truncated } = truncate(value, { bytes: Math.max(0, budget.left) });
  budget.left -= Buffer.byteLength(text);
  if (truncated === false) return text;
  return keep === "head" ? `${text}\n[truncated]` : `[truncated]\n${text}`;
}
