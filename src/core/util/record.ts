/** Returns true for an object with fields. */
export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the fields whose value is not null: many JSON libraries write null for what is absent. */
export function withoutNulls(fields: { readonly [key: string]: unknown }): { readonly [key: string]: unknown } {
  return Object.values(fields).includes(null)
    ? Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
    : fields;
}
