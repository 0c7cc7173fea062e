import { DEFAULT_LIMIT } from "../../core/output/truncate.ts";
import type { Owner, ToolSettings } from "./values.ts";

type Named<T> = { readonly [name: string]: T };

/** A project's list adds to the user's. The user's own replaces the list below it. */
export function added<T>(below: readonly T[] | undefined, value: readonly T[], by: Owner): readonly T[] {
  return by === "user" ? value : [...new Set([...(below ?? []), ...value])];
}

export function byName<T>(below: Named<T> | undefined, value: Named<T>): Named<T> {
  return { ...below, ...value };
}

/** Merges by name. A project's entry with the name of a user's entry has no effect. */
export function yoursFirst<T>(below: Named<T> | undefined, value: Named<T>, by: Owner): Named<T> {
  return by === "user" ? { ...below, ...value } : { ...value, ...below };
}

/** Options of tools. A limit on lines or bytes keeps the other limit. */
export function mergedOptions(below: ToolSettings = {}, value: ToolSettings): ToolSettings {
  const merged = Object.entries(value).map(([tool, options]) => {
    const before = Object.hasOwn(below, tool) ? below[tool] : undefined;
    const limit = options.limit && { limit: { ...DEFAULT_LIMIT, ...before?.limit, ...options.limit } };
    return [tool, { ...before, ...options, ...limit }] as const;
  });
  return { ...below, ...Object.fromEntries(merged) };
}
