import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";

/** A Standard Schema that describes itself as JSON Schema. */
export type DescribedSchema = StandardSchemaV1<unknown, unknown> & {
  readonly "~standard": { readonly jsonSchema: StandardJSONSchemaV1.Converter };
};

/**
 * Returns parameters as a Standard Schema. It validates nothing: the toolkit checks the arguments, and tells the model
 * what is wrong with them.
 */
export function describedSchema(parameters: object): DescribedSchema {
  const described = () => structuredClone(parameters) as Record<string, unknown>; // SDKs change it
  return {
    "~standard": {
      version: 1,
      vendor: "handrail",
      validate: (value) => ({ value }),
      jsonSchema: { input: described, output: described },
    },
  };
}
