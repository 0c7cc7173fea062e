import type { CheckedCall } from "../core/contract/call.ts";
import type { Decision, Scope } from "../core/contract/decision.ts";
import type { Effect } from "../core/contract/effect.ts";
import { describeEffect } from "./describe.ts";

/**
 * Returns the scope of exactly this effect. A change of the schedules is approved each time. Effects that can do
 * anything are granted for the session at most: work for another agent, typed text, and a tool of another program. Such
 * a tool is granted with any arguments. If its description or schema changes, people are asked again.
 */
export function scopeOf(effect: Effect, { tool }: Pick<CheckedCall, "tool">): Scope {
  const label = describeEffect(effect);
  switch (effect.kind) {
    case "foreign":
      return {
        label: `${effect.tool ?? tool.name} of ${effect.from}, with any arguments`,
        key: sortedJson({ kind: effect.kind, from: effect.from, tool: effect.tool, definition: definitionOf(tool) }),
        upTo: "session",
      };
    case "delegate": {
      const { task: _, ...anyTask } = effect;
      return { label: describeEffect(anyTask), key: sortedJson(anyTask), upTo: "session" };
    }
    case "page": {
      // The host is granted, except for files: each file is approved by itself.
      const { act, url = "", detail } = effect;
      const host = URL.canParse(url) ? new URL(url).host : url;
      const granted: Effect = { kind: "page", act, url: host, ...(act === "upload" && { detail }) };
      return { label: describeEffect(granted), key: sortedJson(granted), upTo: "session" };
    }
    case "terminal":
      return { label, key: sortedJson(effect), upTo: "session" };
    case "state": {
      const { soon: _, ...change } = effect;
      return {
        label: describeEffect(change),
        key: sortedJson(change),
        upTo: "once",
        ...(effect.asks === true && { onlyPerson: true }),
      };
    }
    case "read":
    case "write": {
      // The grant is for any read or write of the path.
      const { does: _, isNew: __, ...anyAccess } = effect;
      return { label: describeEffect(anyAccess), key: sortedJson(anyAccess) };
    }
    default:
      return { label, key: sortedJson(effect) };
  }
}

export function withScopes(decision: Decision, change: (scope: Scope) => Scope): Decision {
  return decision.scopes === undefined ? decision : { ...decision, scopes: decision.scopes.map(change) };
}

/** The parts of a question: the policy's own scopes, else every effect of the call. */
export function scopesOf(call: CheckedCall, { scopes }: Decision): readonly Scope[] {
  const all = scopes ?? call.effects.map((effect) => scopeOf(effect, call));
  return [...new Map(all.map((scope) => [scope.key, scope])).values()];
}

/** The longest grant that can answer a question. */
export function longestGrant({ scopes = [] }: Pick<Decision, "scopes">): "once" | "session" | "always" {
  if (scopes.length === 0 || scopes.some(({ upTo }) => upTo === "once")) return "once";
  return scopes.some(({ upTo }) => upTo === "session") ? "session" : "always";
}

/** Whether only a person's own answer counts: `--yes` and similar options refuse, or ask. */
export function isForPerson({ scopes = [] }: Pick<Decision, "scopes">): boolean {
  return scopes.some(({ onlyPerson }) => onlyPerson === true);
}

/** Whether the scopes are exactly the whole call, as `describeCall` shows it. */
export function isWholeCall({ scopes = [] }: Pick<Decision, "scopes">, described: string): boolean {
  const [label, ...more] = new Set(scopes.map((scope) => scope.label));
  return more.length === 0 && (label === described || `Run: ${label}` === described);
}

/** The definition of a tool, as models and people see it. */
function definitionOf({ name, description, input: { json }, output }: CheckedCall["tool"]): unknown {
  return { name, description, json, output };
}

/** Serialises a value with sorted fields. */
function sortedJson(value: unknown): string {
  const sorted = (part: unknown): unknown => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  };
  return JSON.stringify(value, (_, part: unknown) => sorted(part)) ?? "";
}
