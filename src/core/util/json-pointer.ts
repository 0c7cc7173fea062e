/** The value at a JSON pointer ("/a/0", RFC 6901); `undefined` if it leads to no value. */
export function valueAt(root: unknown, pointer: string): unknown {
  let value = root;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as { readonly [name: string]: unknown })[key];
  }
  return value;
}

/** A name as one part of a JSON pointer. */
export function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
