import type { Json } from "../contract/schema.ts";
import { DEFAULT_MAX_BYTES, truncateHead, truncateTail } from "../output/truncate.ts";

/** Deeper data is cut: no reader of a result needs it, and it would overflow the stack of whoever walks it. */
const MAX_DEPTH = 64;

/**
 * What was returned, as JSON: the same value when it is plain JSON, what `JSON.stringify` makes of it (dates as text, undefined
 * left out) when it is not, null for undefined. `undefined` where JSON can make nothing of it.
 */
export function asJson(returned: unknown): Json | undefined {
  if (returned === undefined) return null;
  if (isPlainJson(returned, 0)) return returned as Json;
  try {
    return JSON.parse(JSON.stringify(returned)) as Json;
  } catch {
    return undefined;
  }
}

/**
 * The data with at most 51,200 bytes of text in it (keys included): what is over is cut, texts at the end that is not kept, long
 * lists and objects after as many entries as fit, each with a mark that says so. The same value comes back when all of it fits.
 */
export function boundJson(data: Json, keep: "head" | "tail"): Json {
  if (measure(data, 0) <= DEFAULT_MAX_BYTES) return data;
  return cut(data, { left: DEFAULT_MAX_BYTES }, keep, 0);
}

/** False too for what is nested deeper than `MAX_DEPTH`, circles included: `JSON.stringify` decides about that. */
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
  return Object.values(value).every((entry) => isPlainJson(entry, depth + 1));
}

/** Bytes of text, roughly: every value counts for at least one. Stops counting over the limit; infinite for what is too deep. */
function measure(value: Json, depth: number): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 1;
  if (typeof value !== "object" || value === null) return 1;
  if (depth > MAX_DEPTH) return Infinity;
  let total = 1;
  for (const [key, entry] of Object.entries(value)) {
    total += measure(entry, depth + 1) + (Array.isArray(value) ? 0 : Buffer.byteLength(key));
    if (total > DEFAULT_MAX_BYTES) return total;
  }
  return total;
}

function cut(value: Json, budget: { left: number }, keep: "head" | "tail", depth: number): Json {
  budget.left -= 1;
  if (typeof value === "string") return cutText(value, budget, keep);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return "[left out: nested too deep]";
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
    kept.push([key, cut(entry, budget, keep, depth + 1)]);
  }
  if (kept.length < entries.length) kept.push(["…", `[${entries.length - kept.length} more left out]`]);
  return Object.fromEntries(kept); // makes "__proto__" a key like any other
}

function cutText(value: string, budget: { left: number }, keep: "head" | "tail"): string {
  const truncate = keep === "head" ? truncateHead : truncateTail;
  const { text, truncated } = truncate(value, { bytes: Math.max(0, budget.left) });
  budget.left -= Buffer.byteLength(text);
  if (truncated === false) return text;
  return keep === "head" ? `${text}\n[truncated]` : `[truncated]\n${text}`;
}
