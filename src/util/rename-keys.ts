/**
 * The object with other spellings of its keys put right: `{file_path: …}` becomes `{path: …}`. A key that is already there wins.
 * Anything but an object comes back as it is.
 */
export function renameKeys(raw: unknown, names: { readonly [spelling: string]: string }): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  const renamed: { [key: string]: unknown } = {};
  for (const [key, value] of Object.entries(raw)) {
    const name = Object.hasOwn(names, key) ? names[key] : undefined;
    if (name === undefined) renamed[key] = value;
    else if (!Object.hasOwn(raw, name)) renamed[name] = value;
  }
  return renamed;
}
