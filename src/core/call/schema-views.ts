import type { JsonSchema } from "../contract/schema.ts";
import { tried } from "../util/errors.ts";
import { valueAt } from "../util/json-pointer.ts";

type Schema = { readonly [keyword: string]: unknown };

/** The keywords whose schemas check the same value as the schema that has them. */
const BRANCHES = ["anyOf", "oneOf", "allOf", "then", "else"];

/**
 * Returns the schemas that check one value: each given schema, what it refers to and its branches. Their properties are
 * all that the value may have, whichever branch it is.
 *
 * @param root where references lead
 */
export function viewsOf(schemas: readonly unknown[], root: JsonSchema): readonly Schema[] {
  const found = new Set<Schema>();
  const collect = (schema: unknown): void => {
    if (!isSchema(schema) || found.has(schema)) return;
    found.add(schema);
    collect(referredBy(schema, root));
    for (const keyword of BRANCHES) for (const branch of [schema[keyword]].flat()) collect(branch);
  };
  for (const schema of schemas) collect(schema);
  return [...found];
}

/** Returns the schema that a `$ref` leads to in the same document; `undefined` if it leads elsewhere. */
export function referredBy({ $ref }: Schema, root: JsonSchema): Schema | undefined {
  if (typeof $ref !== "string" || !/^#(?:\/|$)/.test($ref)) return undefined;
  const pointer = tried(() => decodeURIComponent($ref.slice(1)));
  const found = pointer === undefined ? undefined : valueAt(root, pointer);
  return isSchema(found) ? found : undefined;
}

/** Returns the schemas of a property in these views. */
export function propertyIn(views: readonly Schema[], name: string): readonly unknown[] {
  return views.flatMap(({ properties }) =>
    isSchema(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
  );
}

/** Returns the schemas of the items of a list in these views. */
export function itemsIn(views: readonly Schema[]): readonly unknown[] {
  return views.flatMap(({ items, prefixItems }) => [items, prefixItems].flat().filter(isSchema));
}

/** Returns true for an object, so not for the schemas `true` and `false`. */
export function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
