import type { CheckedCall } from "../contract/call.ts";
import type { Effect } from "../contract/effect.ts";

/**
 * What people have allowed for as long as the toolkit lives: effects, exactly as they were shown. A command is granted with its
 * folder and environment, a path where it really leads.
 */
export function createGrants(): { cover(call: CheckedCall): boolean; remember(call: CheckedCall): void } {
  const granted = new Set<string>();
  return {
    cover: ({ effects }) => effects.length > 0 && effects.every((effect) => granted.has(key(effect))),
    remember({ effects }) {
      for (const effect of effects) granted.add(key(effect));
    },
  };
}

function key(effect: Effect): string {
  const sorted = Object.entries(effect).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(sorted, (_, value: unknown) => (isPlainObject(value) ? Object.entries(value).sort() : value));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
