import type { MutableJson, ParametersSchema } from "../contract/schema.ts";

type PlainSchema = { [keyword: string]: MutableJson };

/**
 * Returns the schema in the form that the strict modes of OpenAI and Anthropic accept: every object is closed and every
 * property required; a property that was optional may be null. Limits of lengths, numbers and patterns are left out:
 * the call is checked against the tool's own schema. `undefined` if the schema cannot be written so.
 * https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 *
 * @param schema what `shownSchema` returned
 */
export function strictSchema(schema: ParametersSchema): ParametersSchema | undefined {
  try {
    return strict(schema as PlainSchema) as ParametersSchema;
  } catch (error) {
    if (error === NOT_STRICT) return undefined;
    throw error;
  }
}

const NOT_STRICT = new Error("the schema has no strict form");

/** Keywords that only limit or describe values of a type. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"],
  ...["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames"],
]);

function strict(schema: PlainSchema): PlainSchema {
  const { properties, required, additionalProperties, ...rest } = schema;
  const strictly: PlainSchema = {};
  for (const [keyword, value] of Object.entries(rest)) {
    if (LEFT_OUT.has(keyword)) continue;
    const change = KEPT[keyword];
    if (change === undefined) throw NOT_STRICT;
    strictly[keyword === "oneOf" ? "anyOf" : keyword] = change(value);
  }
  const says = ["type", "enum", "anyOf", "$ref"].some((keyword) => keyword in strictly);
  const isOpen = additionalProperties === true || isPlain(additionalProperties);
  if (!says || isOpen) throw NOT_STRICT; // any value, any keys
  if (!typesOf(strictly).includes("object")) return strictly;
  const given = isPlain(properties) ? properties : {};
  const names = Array.isArray(required) ? required : [];
  const entries = Object.entries(given).map(([name, value]): [string, MutableJson] => {
    const property = strict(schemaOf(value));
    return [name, names.includes(name) ? property : nullable(property)];
  });
  return {
    ...strictly,
    properties: Object.fromEntries(entries),
    required: Object.keys(given),
    additionalProperties: false,
  };
}

const same = (value: MutableJson) => value;
const one = (value: MutableJson) => strict(schemaOf(value));
const list = (value: MutableJson) => (Array.isArray(value) ? value.map(one) : one(value));
const named = (value: MutableJson) =>
  Object.fromEntries(Object.entries(schemaOf(value)).map(([name, part]) => [name, one(part)]));

/** The keywords that strict modes accept, and how their values change. */
const KEPT: { readonly [keyword: string]: (value: MutableJson) => MutableJson } = {
  type: same,
  title: same,
  description: same,
  enum: same,
  $ref: same,
  items: one,
  anyOf: list,
  oneOf: list,
  $defs: named,
  definitions: named,
};

function nullable(schema: PlainSchema): PlainSchema {
  const types = typesOf(schema);
  if (types.includes("null")) return schema;
  const { enum: choices, anyOf, description } = schema;
  if (types.length > 0) {
    const withNull = { ...schema, type: [...types, "null"] };
    return Array.isArray(choices) ? { ...withNull, enum: [...choices, null] } : withNull;
  }
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  return { anyOf: [schema, { type: "null" }], ...(description !== undefined && { description }) };
}

function typesOf({ type }: PlainSchema): string[] {
  return Array.isArray(type) ? type.map(String) : typeof type === "string" ? [type] : [];
}

function schemaOf(value: MutableJson | undefined): PlainSchema {
  if (!isPlain(value)) throw NOT_STRICT;
  return value;
}

function isPlain(value: unknown): value is PlainSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * What counts for the limits of strict modes: levels of objects, properties, values of choices, unions of properties.
 */
export interface StrictUse {
  readonly levels: number;
  readonly properties: number;
  readonly choices: number;
  readonly unions: number;
}

/** Counts what a schema in strict form has. */
export function usedBy(schema: PlainSchema): StrictUse {
  const { properties, items, anyOf, $defs, definitions, enum: choices } = schema;
  const inner = [properties, $defs, definitions].flatMap((each) => (isPlain(each) ? Object.values(each) : []));
  const below = [...inner, items, ...(Array.isArray(anyOf) ? anyOf : [])].filter(isPlain).map(usedBy);
  const own = isPlain(properties) ? Object.values(properties).filter(isPlain) : [];
  const sum = (key: keyof StrictUse) => below.reduce((all, part) => all + part[key], 0);
  return {
    levels: Math.max(0, ...below.map(({ levels }) => levels)) + (isPlain(properties) ? 1 : 0),
    properties: own.length + sum("properties"),
    choices: (Array.isArray(choices) ? choices.length : 0) + sum("choices"),
    unions: own.filter(({ type, anyOf: union }) => Array.isArray(type) || union !== undefined).length + sum("unions"),
  };
}
