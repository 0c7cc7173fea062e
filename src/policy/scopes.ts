import type { CheckedCall } from "../contract/call.ts";
import type { Decision, Scope } from "../contract/decision.ts";
import type { Effect } from "../contract/effect.ts";
import { describeEffect } from "./describe.ts";

/**
 * An effect, exactly as it is, as something that can be granted. What can do anything is granted for the session at
 * most: work handed to another agent, what is typed, and a call of a foreign tool with its very arguments.
 */
export function scopeOf(effect: Effect, { tool, input }: Pick<CheckedCall, "tool" | "input">): Scope {
  const label = describeEffect(effect);
  switch (effect.kind) {
    case "foreign":
      return {
        label: `${label}: ${tool.name} ${JSON.stringify(input)}`,
        key: textOf({ effect, tool: tool.name, input }),
        upTo: "session",
      };
    case "delegate":
    case "terminal":
      return { label, key: textOf(effect), upTo: "session" };
    default:
      return { label, key: textOf(effect) };
  }
}

export function withScopes(decision: Decision, change: (scope: Scope) => Scope): Decision {
  return decision.scopes === undefined ? decision : { ...decision, scopes: decision.scopes.map(change) };
}

/** What a question is about, part by part: the policy's own parts, else every effect of the call. */
export function scopesOf(call: CheckedCall, { scopes }: Decision): readonly Scope[] {
  const all = scopes ?? call.effects.map((effect) => scopeOf(effect, call));
  return [...new Map(all.map((scope) => [scope.key, scope])).values()];
}

/** The answers, beside once, that can be given to a question: how long at most its scopes can be granted. */
export function longestGrant({ scopes = [] }: Pick<Decision, "scopes">): "once" | "session" | "always" {
  if (scopes.length === 0) return "once";
  return scopes.some(({ upTo }) => upTo === "session") ? "session" : "always";
}

/** True when what can be granted is just what `describeCall` says of the whole call. */
export function isWholeCall({ scopes = [] }: Pick<Decision, "scopes">, described: string): boolean {
  const [label, ...more] = new Set(scopes.map((scope) => scope.label));
  return more.length === 0 && (label === described || `Run: ${label}` === described);
}

/** The same text for the same value, in whatever order its fields were written. */
function textOf(value: unknown): string {
  const sorted = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  };
  return JSON.stringify(value, (_, part: unknown) => sorted(part)) ?? "";
}
