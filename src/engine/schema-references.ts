import { valueAt } from "../util/json-pointer.ts";

/** Finds the schema that a `$ref` in `schema` refers to. `undefined` when the document has none. */
export type Follow = (schema: object, reference: string) => unknown;

/** Follows references inside a document: to JSON pointers, `$id` and anchors. Other documents are not loaded. */
export function followerOf(root: unknown): Follow {
  let index: Index | undefined; // built on demand: few schemas have references
  return (schema, reference) => {
    index ??= indexOf(root);
    const { places, addresses } = index;
    const base = places.get(schema)?.base ?? ROOT;
    if (!URL.canParse(reference, base)) return undefined;
    const { href, hash } = new URL(reference, base);
    const document = addresses.get(withoutFragment(href));
    const fragment = decoded(hash.slice(1));
    if (fragment === "") return document;
    if (!fragment?.startsWith("/")) return addresses.get(href);
    // Schemas are often embedded with pointers from their former root. The validator follows these too.
    let target = valueAt(document, fragment);
    for (let holder: unknown = schema; target === undefined && holder !== undefined;) {
      target = valueAt(holder, fragment);
      holder = places.get(holder)?.parent;
    }
    return target;
  };
}

interface Index {
  /** The base URI of every object in the document, and the object or list that it is in. */
  readonly places: ReadonlyMap<unknown, { readonly base: string; readonly parent: unknown }>;
  /** Schemas by the URIs that `$id`, `$anchor` and `$dynamicAnchor` give them. */
  readonly addresses: ReadonlyMap<string, unknown>;
}

function indexOf(root: unknown): Index {
  const places = new Map<unknown, { readonly base: string; readonly parent: unknown }>();
  const addresses = new Map<string, unknown>([[ROOT, root]]);
  collect(root, ROOT, undefined);
  return { places, addresses };

  function collect(value: unknown, base: string, parent: unknown): void {
    if (typeof value !== "object" || value === null || places.has(value)) return;
    const { $id, $anchor, $dynamicAnchor } = value as { readonly [keyword: string]: unknown };
    const id = typeof $id === "string" && URL.canParse($id, base) ? new URL($id, base).href : undefined;
    const own = id === undefined ? base : withoutFragment(id);
    places.set(value, { base: own, parent });
    if (id !== undefined) addresses.set(id.replace(/#$/, ""), value); // "#name" in draft-07 is an anchor
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === "string") addresses.set(`${own}#${anchor}`, value);
    }
    for (const [keyword, part] of Object.entries(value)) {
      if (keyword !== "const" && keyword !== "enum") collect(part, own, value);
    }
  }
}

/** The address of a document without `$id`. */
const ROOT = "schema:///";

function withoutFragment(address: string): string {
  return address.replace(/#.*$/s, "");
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
