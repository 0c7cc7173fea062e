import type { JsonSchema } from "../contract/schema.ts";
import { isRounded } from "../util/exact-json.ts";
import { fittedNames } from "./property-names.ts";
import { isSchema, itemsIn, propertyIn, viewsOf } from "./schema-views.ts";

type Schemas = readonly unknown[];

/** Changes one property of an object: returns its entry, or none to remove it. */
type Change = (
  name: string,
  value: unknown,
  views: ReturnType<typeof viewsOf>,
  holder: object,
) => readonly [string, unknown] | undefined;

/**
 * Returns the arguments without each `null` that stands for an optional property, at any depth, also behind references
 * and in branches: in strict modes models write it for "not given". A `null` that the schema takes is kept. Returns the
 * same value if there is none to remove.
 */
export function withoutNulls(schema: JsonSchema, value: unknown): unknown {
  return changed(value, [schema], schema, (name, given, views) => {
    const properties = propertyIn(views, name);
    if (given !== null || properties.length === 0 || takesNull(properties, schema)) return [name, given];
    const having = views.filter((view) => propertyIn([view], name).length > 0);
    const isRequired = having.every(({ required }) => Array.isArray(required) && required.includes(name));
    return isRequired ? [name, given] : undefined;
  });
}

function takesNull(properties: Schemas, root: JsonSchema): boolean {
  return viewsOf(properties, root).some(
    ({ type, enum: choices, const: only }) =>
      [type].flat().includes("null") || only === null || (Array.isArray(choices) && choices.includes(null)),
  );
}

const renaming = new WeakMap<JsonSchema, boolean>();

/**
 * Returns the arguments with the tool's own names of properties, for those that were renamed for providers
 * (`fittedNames`). Returns the same value if there is none to rename.
 */
export function withOwnNames(schema: JsonSchema, value: unknown): unknown {
  const renames = renaming.get(schema) ?? hasOddName(schema);
  renaming.set(schema, renames);
  if (!renames) return value;
  return changed(value, [schema], schema, (name, given, views, holder) => {
    if (propertyIn(views, name).length > 0) return [name, given];
    const own = views.flatMap(({ properties }) => (isSchema(properties) ? [...fittedNames(properties)] : []));
    const [original] = own.find(([, fitted]) => fitted === name) ?? [name];
    return Object.hasOwn(holder, original) ? [name, given] : [original, given];
  });
}

function hasOddName(schema: JsonSchema): boolean {
  let found = false;
  JSON.stringify(schema, (key, part: unknown) => {
    if (key === "properties" && isSchema(part)) found ||= [...fittedNames(part)].some(([own, other]) => own !== other);
    return part;
  });
  return found;
}

/** Applies a change to every property, the outermost first. Returns the same value if nothing changes. */
function changed(value: unknown, schemas: Schemas, root: JsonSchema, change: Change): unknown {
  if (typeof value !== "object" || value === null) return value;
  const views = viewsOf(schemas, root);
  if (Array.isArray(value)) {
    const items = itemsIn(views);
    const all = items.length === 0 ? value : value.map((item: unknown) => changed(item, items, root, change));
    return all.some((item, index) => item !== value[index]) ? all : value;
  }
  let differs = false;
  const entries = Object.entries(value).flatMap(([name, given]): (readonly [string, unknown])[] => {
    const entry = change(name, given, views, value);
    if (entry === undefined) {
      differs = true;
      return [];
    }
    const [newName, part] = entry;
    const inner = changed(part, propertyIn(views, newName), root, change);
    differs ||= newName !== name || inner !== given;
    return [[newName, inner]];
  });
  return differs ? Object.fromEntries(entries) : value;
}

/** Returns the place of each number that was rounded before it came here, or would be: "items[0].id". */
export function roundedIn(value: unknown, at = ""): readonly { readonly path: string; readonly number: string }[] {
  if (typeof value === "number") return isRounded(String(value)) ? [{ path: at, number: String(value) }] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    roundedIn(part, Array.isArray(value) ? `${at}[${name}]` : at === "" ? name : `${at}.${name}`),
  );
}
