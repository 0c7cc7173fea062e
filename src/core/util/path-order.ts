/**
 * Returns a sort key (code units) that orders paths folder by folder, like ripgrep: everything in `a` before `a-b` and
 * `a.txt`. It consists of bytes, so that names that are not UTF-8 have an order too.
 */
export function pathOrderKey(path: Buffer | string): string {
  const bytes =
    typeof path !== "string" ? path.toString("latin1") : isAscii(path) ? path : Buffer.from(path).toString("latin1");
  return bytes.replaceAll("/", "\0"); // no name has a NUL in it
}

/** The path that has this key. */
export function pathOfKey(key: string): string {
  return pathOfBytes(key.replaceAll("\0", "/"));
}

/**
 * The path whose bytes are the characters of a text. Keep names in that form as long as possible: names that are not
 * UTF-8 stay distinct.
 */
export function pathOfBytes(latin1: string): string {
  return isAscii(latin1) ? latin1 : Buffer.from(latin1, "latin1").toString("utf8");
}

/** For `sort`: by `key`, in code units. */
export function byKey(one: { readonly key: string }, other: { readonly key: string }): number {
  return one.key < other.key ? -1 : one.key > other.key ? 1 : 0;
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
