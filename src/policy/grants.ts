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

/** The same text for the same effect, in whatever order its fields were written. */
function key(effect: Effect): string {
  return JSON.stringify(effect, (_, value: unknown) => (isPlainObject(value) ? sortedFields(value) : value));
}

function sortedFields(value: object): object {
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
