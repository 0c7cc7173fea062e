import { words } from "../util/text.ts";

/**
 * The keywords of JSON Schema draft-07 and 2020-12 whose values are schemas: one schema, a list of them, either one or
 * a list, or an object of schemas by name. (In `dependencies` a name may have a list of names instead.)
 */
export const SUBSCHEMAS: ReadonlyMap<string, Holds> = new Map<string, Holds>([
  ...each("one", "additionalItems additionalProperties contains else if not propertyNames then"),
  ...each("one", "unevaluatedItems unevaluatedProperties"),
  ...each("list", "allOf anyOf oneOf prefixItems"),
  ...each("one or list", "items"),
  ...each("named", "$defs definitions dependencies dependentSchemas patternProperties properties"),
]);

type Holds = "one" | "list" | "one or list" | "named";

function each(holds: Holds, keywords: string): readonly (readonly [string, Holds])[] {
  return words(keywords).map((keyword) => [keyword, holds] as const);
}
