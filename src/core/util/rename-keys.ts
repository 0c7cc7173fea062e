/**
 * Renames other spellings of an object's keys: `{file_path: …}` becomes `{path: …}`. An existing key wins. Other values
 * are returned unchanged.
 */
export function renameKeys(raw: unknown, names: { readonly [spelling: string]: string }): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  const renamed = Object.entries(raw).flatMap(([key, value]): [string, unknown][] => {
    const name = Object.hasOwn(names, key) ? names[key] : undefined;
    if (name === undefined) return [[key, value]];
    return Object.hasOwn(raw, name) ? [] : [[name, value]];
  });
  return Object.fromEntries(renamed); // makes "__proto__" a key like any other
}
