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
  if (measure(returned, 0) !== undefined) return returned as Json;
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
  if ((measure(data, 0) ?? Infinity) <= DEFAULT_MAX_BYTES) return data;
  return cut(data, { left: DEFAULT_MAX_BYTES }, keep, 0);
}

/** Bytes of text, roughly: every value counts for at least one; stops counting over the limit. `undefined` for what is not plain JSON, or too deep. */
function measure(value: unknown, depth: number): number | undefined {
  if (value === null || typeof value === "boolean") return 1;
  if (typeof value === "number") return Number.isFinite(value) ? 1 : undefined;
  if (typeof value === "string") return Buffer.byteLength(value) + 1;
  if (typeof value !== "object") return undefined;
  if (depth > MAX_DEPTH) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return undefined;
  let total = 1;
  for (const [key, entry] of Object.entries(value)) {
    const size = measure(entry, depth + 1);
    if (size === undefined) return undefined;
    total += size + (Array.isArray(value) ? 0 : Buffer.byteLength(key));
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
    for (const entry of value as readonly Json[]) {
      if (budget.left <= 0) break;
      kept.push(cut(entry, budget, keep, depth + 1));
    }
    if (kept.length < value.length) kept.push(`[${value.length - kept.length} more left out]`);
    return kept;
  }
  const kept: { [key: string]: Json } = {};
  const entries = Object.entries(value);
  for (const [index, [key, entry]] of entries.entries()) {
    if (budget.left <= 0) {
      kept["…"] = `[${entries.length - index} more left out]`;
      break;
    }
    budget.left -= Buffer.byteLength(key);
    kept[key] = cut(entry, budget, keep, depth + 1);
  }
  return kept;
}

function cutText(value: string, budget: { left: number }, keep: "head" | "tail"): string {
  const truncate = keep === "head" ? truncateHead : truncateTail;
  const { text, truncated } = truncate(value, { bytes: Math.max(0, budget.left) });
  budget.left -= Buffer.byteLength(text);
  if (truncated === false) return text;
  return keep === "head" ? `${text}\n[truncated]` : `[truncated]\n${text}`;
}
