import { valueAt } from "../util/json-pointer.ts";

/** Finds the schema that a `$ref` in `schema` refers to; `undefined` when there is none in the document. */
export type Follow = (schema: object, reference: string) => unknown;

/** Follows references inside a document: to JSON pointers, `$id` and anchors. Other documents are not loaded. */
export function followerOf(root: unknown): Follow {
  let index: Index | undefined; // few schemas have references
  return (schema, reference) => {
    index ??= indexOf(root);
    const { bases, addresses } = index;
    const base = bases.get(schema) ?? ROOT;
    if (!URL.canParse(reference, base)) return undefined;
    const { href, hash } = new URL(reference, base);
    const document = addresses.get(withoutFragment(href));
    const fragment = decoded(hash.slice(1));
    if (fragment === "") return document;
    if (!fragment?.startsWith("/")) return addresses.get(href);
    // Schemas are often put into others with pointers that still start from their own root. The validator follows these, too.
    return [document, ...bases.keys()]
      .map((holder) => valueAt(holder, fragment))
      .find((target) => target !== undefined);
  };
}

interface Index {
  /** The base URI of every object in the document. */
  readonly bases: ReadonlyMap<unknown, string>;
  /** Schemas by the URIs that `$id`, `$anchor` and `$dynamicAnchor` give them. */
  readonly addresses: ReadonlyMap<string, unknown>;
}

function indexOf(root: unknown): Index {
  const bases = new Map<unknown, string>();
  const addresses = new Map<string, unknown>([[ROOT, root]]);
  collect(root, ROOT);
  return { bases, addresses };

  function collect(value: unknown, base: string): void {
    if (typeof value !== "object" || value === null || bases.has(value)) return;
    const { $id, $anchor, $dynamicAnchor } = value as { readonly [keyword: string]: unknown };
    const id = typeof $id === "string" && URL.canParse($id, base) ? new URL($id, base).href : undefined;
    const own = id === undefined ? base : withoutFragment(id);
    bases.set(value, own);
    if (id !== undefined) addresses.set(id.replace(/#$/, ""), value); // "#name" in draft-07 is an anchor
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === "string") addresses.set(`${own}#${anchor}`, value);
    }
    for (const [keyword, part] of Object.entries(value)) {
      if (keyword !== "const" && keyword !== "enum") collect(part, own);
    }
  }
}

/** The address of a schema that has none of its own. */
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
