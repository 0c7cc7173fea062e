import type { JsonSchema, MutableJson, ParametersSchema } from "../contract/schema.ts";
import { SUBSCHEMAS } from "./subschemas.ts";

/** A schema that is not `true` or `false`. */
export type PlainSchema = { [keyword: string]: MutableJson };
type Change = (schema: PlainSchema) => PlainSchema;

/**
 * Returns a copy of a tool's input schema in a form that every provider takes:
 *  - `type: "object"` and `properties` are always present, and so is `items` in an array. OpenAI refuses schemas
 * without
 *    them: "object schema missing properties", "array schema missing items".
 *  - A fixed choice is `{type, enum}`. TypeBox and others write it as `const`, or `anyOf` of `const`. Gemini does not
 *    support `const`: its keywords are listed at `responseJsonSchema` in
 *    https://ai.google.dev/api/generate-content#generationconfig
 *
 * What the schema accepts stays the same.
 */
export function shownSchema(schema: JsonSchema): ParametersSchema {
  const text = JSON.stringify(schema, (_, value: unknown) => (value instanceof RegExp ? value.source : value));
  return parametersSchema(changed(JSON.parse(text) as PlainSchema, (part) => withItems(withEnum(part))));
}

/** The schema of arguments: an object with properties. */
export function parametersSchema(schema: PlainSchema): ParametersSchema {
  const { properties, required, ...rest } = schema;
  return {
    ...rest,
    type: "object",
    properties: isPlain(properties) ? properties : {},
    ...(Array.isArray(required) && { required: required.map(String) }),
  };
}

/**
 * Applies a change to the schema and to every schema inside it, the innermost first.
 *
 * @param levels 1: only to the schemas directly inside it
 */
export function changed(schema: PlainSchema, change: Change, levels = Infinity): PlainSchema {
  const one = (part: MutableJson) =>
    !isPlain(part) ? part : levels === 1 ? change(part) : changed(part, change, levels);
  const entries = Object.entries(schema).map(([keyword, value]): [string, MutableJson] => {
    const holds = SUBSCHEMAS.get(keyword);
    if (holds === undefined) return [keyword, value];
    if (Array.isArray(value)) return [keyword, value.map(one)];
    if (holds !== "named" || !isPlain(value)) return [keyword, one(value)];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, one(part)]))];
  });
  const result = Object.fromEntries(entries);
  return levels === 1 ? result : change(result);
}

/** OpenAI refuses an array without `items`. An empty schema for `items` allows the same values as no `items`. */
function withItems(schema: PlainSchema): PlainSchema {
  if (schema["type"] !== "array" || "items" in schema || "prefixItems" in schema) return schema;
  return { ...schema, items: {} };
}

/**
 * Writes a choice of values as `{type, enum}`: a `const`, an `enum` without a type, and in `anyOf` all choices of one
 * type together.
 */
export function withEnum(schema: PlainSchema): PlainSchema {
  if ("const" in schema && !("enum" in schema)) {
    const { const: value = null, ...rest } = schema;
    return withEnum({ ...rest, enum: [value] });
  }
  const { anyOf } = schema;
  if (Array.isArray(anyOf)) return withBranches(schema, merged(anyOf));
  const choices = schema["enum"];
  if (!Array.isArray(choices) || "type" in schema) return schema;
  const [type, ...others] = new Set(choices.map(typeOf));
  return type === undefined || others.length > 0 ? schema : { type, ...schema };
}

/** Replaces an `anyOf` by its only branch when that branch is a choice. */
function withBranches({ anyOf: _, ...rest }: PlainSchema, branches: MutableJson[]): PlainSchema {
  const [only] = branches;
  const alone =
    branches.length === 1 && isChoice(only) && !("enum" in rest) && (rest["type"] ?? only.type) === only.type;
  return alone ? { ...rest, ...only } : { ...rest, anyOf: branches };
}

type Choice = { type: string; enum: MutableJson[] };

function merged(branches: readonly MutableJson[]): MutableJson[] {
  const choices = new Map<string, Choice>();
  const result: MutableJson[] = [];
  for (const branch of branches) {
    const first = isChoice(branch) ? choices.get(branch.type) : undefined;
    if (isChoice(branch) && first !== undefined) {
      first.enum = [...new Set([...first.enum, ...branch.enum])];
      continue;
    }
    if (isChoice(branch)) choices.set(branch.type, branch);
    result.push(branch);
  }
  return result;
}

/** Whether the schema is only a choice, without a description of its own. */
function isChoice(schema: MutableJson | undefined): schema is Choice {
  return (
    isPlain(schema) &&
    typeof schema["type"] === "string" &&
    Array.isArray(schema["enum"]) &&
    Object.keys(schema).length === 2
  );
}

function typeOf(value: MutableJson): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

export function isPlain(value: MutableJson | undefined): value is PlainSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
