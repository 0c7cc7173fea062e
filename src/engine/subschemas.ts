/**
 * The keywords of JSON Schema draft-07 and 2020-12 whose values are schemas: one schema, a list of them, either one or
 * a list, or an object of schemas by name. (In `dependencies` a name may have a list of names instead.)
 */
export const SUBSCHEMAS: ReadonlyMap<string, "one" | "list" | "one or list" | "named"> = new Map([
  ["additionalItems", "one"],
  ["additionalProperties", "one"],
  ["contains", "one"],
  ["else", "one"],
  ["if", "one"],
  ["not", "one"],
  ["propertyNames", "one"],
  ["then", "one"],
  ["unevaluatedItems", "one"],
  ["unevaluatedProperties", "one"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["oneOf", "list"],
  ["prefixItems", "list"],
  ["items", "one or list"],
  ["$defs", "named"],
  ["definitions", "named"],
  ["dependencies", "named"],
  ["dependentSchemas", "named"],
  ["patternProperties", "named"],
  ["properties", "named"],
]);
