import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Static, TSchema } from "typebox";

/** Any value that survives JSON, which leaves out fields that are undefined. Tools return it, events carry it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** JSON that the receiver may change. */
export type MutableJson = null | boolean | number | string | MutableJson[] | { [key: string]: MutableJson };

/** A JSON Schema document: draft 2020-12 unless its `$schema` names draft-07. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The JSON Schema of a tool's arguments as model providers get it. A copy: changing it does not change the tool. */
export interface ParametersSchema {
  type: "object";
  properties: { [name: string]: MutableJson };
  required?: string[];
  [keyword: string]: unknown;
}

/**
 * What `defineTool` takes as `input`: a TypeBox type, a plain JSON Schema object, a Standard Schema that can describe
 * itself as JSON Schema (zod 4, arktype 2.2, …), or a `Schema` made by `standardSchema`.
 */
export type SchemaSource = object;

/** The type of a tool's checked input, inferred from its schema. */
export type InputOf<S extends SchemaSource> =
  S extends Schema<infer Input>
    ? Input
    : S extends StandardSchemaV1
      ? StandardSchemaV1.InferOutput<S>
      : S extends TSchema
        ? Static<S>
        : unknown;

/** A tool's input schema as the engine uses it. */
export interface Schema<Input = unknown> {
  /** The schema that the model gets, against which arguments are checked and coerced. */
  readonly json: JsonSchema;
  /**
   * Checked after `json`, and its output (defaults, transformations) is what the tool receives. May be asynchronous.
   */
  readonly standard?: StandardSchemaV1<unknown, Input>;
}

/** The part of the Standard JSON Schema interface that Handrail reads: https://standardschema.dev/json-schema */
interface DescribesItself {
  readonly jsonSchema?: { input(options: { target: "draft-2020-12" }): Record<string, unknown> };
}

/**
 * Wraps any Standard Schema, together with the JSON Schema that the model gets. `json` may be omitted if the library
 * can describe itself (`~standard.jsonSchema`).
 *
 * @throws TypeError when there is no JSON Schema.
 */
export function standardSchema<S extends StandardSchemaV1>(
  standard: S,
  json?: JsonSchema,
): Schema<StandardSchemaV1.InferOutput<S>> {
  const itself = (standard["~standard"] as DescribesItself).jsonSchema;
  const described = json ?? itself?.input({ target: "draft-2020-12" });
  if (described === undefined) {
    const vendor = standard["~standard"].vendor;
    throw new TypeError(
      `this ${vendor} schema cannot describe itself as JSON Schema; pass one: standardSchema(schema, jsonSchema)`,
    );
  }
  return { json: described, standard };
}

/** Converts the `input` of `defineTool` to a `Schema`. */
export function toSchema<S extends SchemaSource>(source: S): Schema<InputOf<S>> {
  if (isSchema(source)) return source as Schema<InputOf<S>>;
  if (isStandardSchema(source)) return standardSchema(source) as Schema<InputOf<S>>;
  return { json: source as JsonSchema };
}

function isStandardSchema(source: object): source is StandardSchemaV1 {
  return "~standard" in source;
}

function isSchema(source: object): source is Schema {
  // `json` is not a keyword of JSON Schema; an extension keyword of that name would not be an object.
  return "json" in source && typeof source.json === "object" && source.json !== null;
}
