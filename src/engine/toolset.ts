import { distance } from "fastest-levenshtein";
import type { EffectKind } from "../contract/effect.ts";
import type { Tool, ToolNames } from "../contract/tool.ts";
import type { ParametersSchema } from "../contract/schema.ts";
import type { DefinitionFormat, DefinitionOf, DefinitionOptions, Toolset } from "../contract/toolkit.ts";
import { counterpartsOf } from "./counterparts.ts";
import { shownSchema, shownSchemaForGemini } from "./shown-schema.ts";
import { strictSchema } from "./strict-schema.ts";

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

/** Finds a tool by its exact name. If no tool has it, finds one by name or alias, ignoring case, `-` and `_`. */
export function findTool(tools: Toolset, name: string): Tool | undefined {
  return tools.get(name) ?? otherNames(tools).get(folded(name));
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
  const asked = name.slice(0, 64).toLowerCase();
  const counterparts = counterpartsOf(folded(name)).flatMap((known) => findTool(tools, known)?.name ?? []);
  const ranked = [...tools.keys()]
    .map((known) => ({ known, away: distance(asked, known.toLowerCase()) }))
    .sort((a, b) => a.away - b.away);
  const near = ranked.filter(({ known, away }) => away <= Math.max(2, known.length / 3)).slice(0, 3);
  const alike = (near.length > 0 || counterparts.length > 0 ? near : ranked).map(({ known }) => known);
  return [...new Set([...counterparts, ...alike])].slice(0, 3);
}

/** The tool definitions in a provider's format. `undefined` without tools, since providers reject an empty array. */
export function definitions<F extends DefinitionFormat>(
  tools: Toolset,
  format: F,
  { strict = false }: DefinitionOptions<F> = {},
): DefinitionOf[F][] | undefined {
  if (tools.size === 0) return undefined;
  return [...tools.values()].map((tool) => DEFINE[format](tool, strict));
}

/** The schema in the form that strict modes accept, if that is wanted and possible. */
function shown(
  { json }: Tool["input"],
  isStrict: boolean,
): { readonly schema: ParametersSchema; readonly strict: boolean } {
  const schema = shownSchema(json);
  const strict = isStrict ? strictSchema(schema) : undefined;
  return { schema: strict ?? schema, strict: strict !== undefined };
}

/** Returns a tool's parameters for people, in one line; "" if it has none. */
export function paramsHint({ paramsHint: given, input }: Pick<Tool, "paramsHint" | "input">): string {
  if (given !== undefined) return given;
  const { properties, required = [] } = shownSchema(input.json);
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? `${name} (required)` : name))
    .join(", ");
}

const DEFINE: { readonly [F in DefinitionFormat]: (tool: Tool, isStrict: boolean) => DefinitionOf[F] } = {
  json: (tool) => ({
    name: tool.name,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description,
    params_hint: paramsHint(tool),
    parameters: shownSchema(tool.input.json),
  }),
  // https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools
  openai: ({ name, description, input }, isStrict) => {
    const { schema, strict } = shown(input, isStrict);
    return { type: "function", function: { name, description, parameters: schema, ...(strict && { strict }) } };
  },
  // https://platform.openai.com/docs/api-reference/responses/create#responses-create-tools
  "openai-responses": ({ name, description, input }, isStrict) => {
    const { schema, strict } = shown(input, isStrict);
    return { type: "function", name, description, parameters: schema, strict };
  },
  // https://docs.anthropic.com/en/api/messages#body-tools
  anthropic: ({ name, description, input }, isStrict) => {
    const { schema, strict } = shown(input, isStrict);
    return { name, description, input_schema: schema, ...(strict && { strict }) };
  },
  // `parametersJsonSchema` takes plain JSON Schema, `parameters` a dialect of OpenAPI.
  // https://ai.google.dev/api/caching#FunctionDeclaration
  gemini: ({ name, description, input }) => ({
    name,
    description,
    parametersJsonSchema: shownSchemaForGemini(input.json),
  }),
  // https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
  mcp: ({ name, title, description, input, output, touches }) => ({
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: shownSchema(input.json),
    ...(output?.["type"] === "object" && { outputSchema: shownSchema(output) }),
    annotations: annotations(touches),
  }),
};

// https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations
function annotations(touches: readonly EffectKind[]): DefinitionOf["mcp"]["annotations"] {
  const acts = !onlyLook([{ touches }]);
  return {
    readOnlyHint: !acts,
    ...(acts && { destructiveHint: true }),
    openWorldHint: touches.some((kind) => OPEN_WORLD.has(kind)),
  };
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
const OPEN_WORLD: ReadonlySet<EffectKind> = new Set([
  "exec",
  "terminal",
  "fetch",
  "request",
  "search",
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
