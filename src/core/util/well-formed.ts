/** Half of a surrogate pair. With the flag `u`, a whole pair is one character and does not match. */
const HALF = /\p{Surrogate}/gu;

/**
 * Returns the value with U+FFFD for each half of a surrogate pair, in all its texts and names; the same value if there
 * is none. Half a pair cannot be written in UTF-8, so strict receivers refuse the whole message that has one.
 * Everything that leaves for a model, an SDK or another program passes here: definitions, requests, results, arguments.
 */
export function wellFormed<T>(value: T): T {
  if (typeof value === "string") return value.replaceAll(HALF, "\ufffd") as T;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map(wellFormed);
    return items.some((item, index) => item !== value[index]) ? (items as T) : value;
  }
  if (!isPlain(value)) return value;
  let changed = false;
  const entries = Object.entries(value).map(([name, part]): [string, unknown] => {
    const [formedName, formed] = [name.replaceAll(HALF, "\ufffd"), wellFormed(part)];
    changed ||= formedName !== name || formed !== part;
    return [formedName, formed];
  });
  return changed ? (Object.fromEntries(entries) as T) : value;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
