import { type TSchema, Type } from "typebox";

/**
 * The schema of a list in a tool's data. Long data is cut: then a text that says how many are missing ends the list,
 * and the entry before it may lack fields.
 */
export function listOf(entry: TSchema) {
  return Type.Array(Type.Union([entry, Type.String()]));
}

/** The schema of an entry with these fields. */
export function entryOf(properties: { readonly [name: string]: TSchema }) {
  return Type.Partial(Type.Object({ ...properties }));
}
