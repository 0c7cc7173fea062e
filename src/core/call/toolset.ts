import { distance } from "fastest-levenshtein";
import type { EffectKind } from "../contract/effect.ts";
import type { Tool, ToolNames } from "../contract/tool.ts";
import type { Toolset } from "../contract/toolkit.ts";
import { bareName } from "../util/bare-name.ts";
import { counterpartsOf } from "./counterparts.ts";
import { shownSchema } from "./shown-schema.ts";

/**
 * Returns the tools by name, in the given order. Their texts name only tools of this set.
 *
 * @throws TypeError when two tools have the same name.
 */
export function toolset(tools: Iterable<Tool>): Toolset {
  const named = new Map<string, Tool>();
  for (const tool of tools) {
    if (named.has(tool.name)) throw new TypeError(`two tools are named "${tool.name}"; rename one of them`);
    named.set(tool.name, tool);
  }
  const names: ToolNames = (name, parameter) => {
    const tool = findTool(named, name);
    return tool === undefined || (parameter !== undefined && !takes(tool, parameter)) ? undefined : tool.name;
  };
  return new Map([...named].map(([name, tool]) => [name, tool.among?.(names) ?? tool]));
}

function takes({ input }: Tool, parameter: string): boolean {
  const { properties } = input.json;
  return typeof properties === "object" && properties !== null && Object.hasOwn(properties, parameter);
}

/**
 * Finds a tool by its exact name. If no tool has it, finds one by name or alias, ignoring case, `-` and `_`, and what
 * models put around a name (`bareName`).
 */
export function findTool(tools: Toolset, name: string): Tool | undefined {
  const exact = tools.get(name);
  if (exact !== undefined) return exact;
  const others = otherNames(tools);
  return others.get(folded(name)) ?? others.get(folded(bareName(name)));
}

/** Returns a name in one form: "run-shell", "runShell" and "run_shell" are equal. */
function folded(name: string): string {
  return name.replaceAll(/[-_]/g, "").toLowerCase();
}

/**
 * Suggests up to three tools for an unknown name, best first: first tools that do what another agent's tool of that
 * name does, then tools with a similar name. Empty only when there are no tools.
 */
export function closestTools(tools: Toolset, name: string): readonly string[] {
  const whole = name.slice(0, 64);
  const asked = new Set([folded(whole), folded(bareName(whole))]);
  const counterparts = [...asked].flatMap(counterpartsOf).flatMap((known) => findTool(tools, known)?.name ?? []);
  const ranked = [...tools.keys()]
    .map((known) => ({ known, away: Math.min(...namesOf(known).map((each) => awayFrom(each, asked))) }))
    .sort((a, b) => a.away - b.away);
  const near = ranked.filter(({ away }) => away <= 1).slice(0, 3);
  const alike = (near.length > 0 || counterparts.length > 0 ? near : ranked).map(({ known }) => known);
  return [...new Set([...counterparts, ...alike])].slice(0, 3);
}

/**
 * The names by which a model may know a tool: a server's tool also by its name in that server, with its server or not.
 */
function namesOf(name: string): readonly string[] {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return [name, ...(server === undefined || tool === undefined ? [] : [tool, `${server}${tool}`])].map(folded);
}

/** How far a name is from the nearest of others, as a share of what counts as near: a third of its length. */
function awayFrom(name: string, others: ReadonlySet<string>): number {
  return Math.min(...[...others].map((other) => distance(other, name))) / Math.max(2, name.length / 3);
}

/** Returns a tool's parameters for people, in one line; "" if it has none. */
export function paramsHint({ paramsHint: given, input }: Pick<Tool, "paramsHint" | "input">): string {
  if (given !== undefined) return given;
  const { properties, required = [] } = shownSchema(input.json);
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? `${name} (required)` : name))
    .join(", ");
}

/** Returns true if no tool changes anything, judging by the tools' declarations in `touches`. */
export function onlyLook(tools: Iterable<Pick<Tool, "touches">>): boolean {
  return [...tools].every(({ touches }) => !touches.some((kind) => ACTS.has(kind)));
}

const ACTS: ReadonlySet<EffectKind> = new Set([
  "write",
  "exec",
  "terminal",
  "request",
  "state",
  "delegate",
  "page",
  "foreign",
]);
const otherNamesOf = new WeakMap<Toolset, ReadonlyMap<string, Tool>>();

function otherNames(tools: Toolset): ReadonlyMap<string, Tool> {
  const known = otherNamesOf.get(tools);
  if (known) return known;
  const names = new Map<string, Tool>();
  const add = (name: string, tool: Tool) => names.has(folded(name)) || names.set(folded(name), tool);
  for (const tool of tools.values()) add(tool.name, tool);
  for (const tool of tools.values()) for (const alias of tool.aliases ?? []) add(alias, tool);
  otherNamesOf.set(tools, names);
  return names;
}
