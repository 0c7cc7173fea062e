import type { EffectKind } from "../contract/effect.ts";
import type { MutableJson, ParametersSchema } from "../contract/schema.ts";
import type { Tool } from "../contract/tool.ts";
import type { DefinitionFormat, DefinitionOf, DefinitionOptions, Toolset } from "../contract/toolkit.ts";
import { messageOf } from "../util/errors.ts";
import { wellFormed } from "../util/well-formed.ts";
import { fitSchema } from "./fit-schema.ts";
import { PROVIDER_RULES, type StrictLimits } from "./provider-rules.ts";
import { shownSchema } from "./shown-schema.ts";
import { type StrictUse, strictSchema, usedBy } from "./strict-schema.ts";
import { onlyLook, paramsHint } from "./toolset.ts";

/** What a definition is made of: the tool, its schema and description for the provider, and whether it is strict. */
interface Fitted {
  readonly tool: Tool;
  readonly description: string;
  readonly schema: ParametersSchema;
  readonly strict: boolean;
}

/**
 * Returns the tool definitions in a provider's format, each fitted to what the provider takes (`PROVIDER_RULES`).
 * `undefined` without tools, since providers reject an empty array.
 *
 * @param leftOut called for each tool that cannot be defined, with the reason: one would fail every request
 */
export function definitions<F extends DefinitionFormat>(
  tools: Toolset,
  format: F,
  { strict = false }: DefinitionOptions<F> = {},
  leftOut: (tool: string, why: string) => void = () => {},
): DefinitionOf[F][] | undefined {
  const { mostTools, strict: limits } = PROVIDER_RULES[format];
  const takes = strict && limits !== undefined ? strictWithin(limits) : () => undefined;
  const defined: DefinitionOf[F][] = [];
  for (const tool of tools.values()) {
    if (defined.length === mostTools) {
      leftOut(tool.name, `a request in the format ${format} takes ${mostTools} tools`);
      continue;
    }
    try {
      const { schema, rule } = fitSchema(tool.input.json, PROVIDER_RULES[format]);
      const strictly = takes(schema);
      const description = rule === "" ? tool.description : `${tool.description}\n\nArguments: ${rule}`;
      const fitted = { tool, description, schema: strictly ?? schema, strict: strictly !== undefined };
      defined.push(wellFormed(DEFINE[format](fitted)));
    } catch (error) {
      leftOut(tool.name, `its schema cannot be written for the format ${format}: ${messageOf(error)}`);
    }
  }
  return defined.length === 0 ? undefined : defined;
}

/**
 * Returns a function that returns the strict form of a schema, while the tools before it and it stay within the limits.
 */
function strictWithin(limits: StrictLimits): (schema: ParametersSchema) => ParametersSchema | undefined {
  let left: Omit<StrictLimits, "levels"> = limits;
  return (schema) => {
    const form = strictSchema(schema);
    if (form === undefined) return undefined;
    const { levels, ...used }: StrictUse = usedBy(form as { [keyword: string]: MutableJson });
    const after = {
      tools: left.tools - 1,
      properties: left.properties - used.properties,
      choices: left.choices - used.choices,
      unions: left.unions - used.unions,
    };
    if (levels > limits.levels || Object.values(after).some((count) => count < 0)) return undefined;
    left = after;
    return form;
  };
}

const DEFINE: { readonly [F in DefinitionFormat]: (fitted: Fitted) => DefinitionOf[F] } = {
  json: ({ tool, description, schema }) => ({
    name: tool.name,
    ...(tool.title !== undefined && { title: tool.title }),
    description,
    params_hint: paramsHint(tool),
    parameters: schema,
  }),
  // https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools
  openai: ({ tool: { name }, description, schema, strict }) => ({
    type: "function",
    function: { name, description, parameters: schema, ...(strict && { strict }) },
  }),
  // https://platform.openai.com/docs/api-reference/responses/create#responses-create-tools
  "openai-responses": ({ tool: { name }, description, schema, strict }) => ({
    ...{ type: "function", name, description, parameters: schema, strict },
  }),
  // https://docs.anthropic.com/en/api/messages#body-tools
  anthropic: ({ tool: { name }, description, schema, strict }) => ({
    ...{ name, description, input_schema: schema },
    ...(strict && { strict }),
  }),
  // `parametersJsonSchema` takes plain JSON Schema, `parameters` a dialect of OpenAPI.
  // https://ai.google.dev/api/caching#FunctionDeclaration
  gemini: ({ tool: { name }, description, schema }) => ({ name, description, parametersJsonSchema: schema }),
  // https://modelcontextprotocol.io/specification/2025-11-25/schema#tool
  mcp: ({ tool: { name, title, output, touches }, description, schema }) => ({
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: schema,
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
