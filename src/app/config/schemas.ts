import type { JsonSchema } from "../../core/contract/schema.ts";

declare const VALUE: unique symbol;

/**
 * A JSON Schema of a value in a file. Messages name its `title` as what was expected. `format` names a check of
 * formats.ts; `advice` is added to a message when the value does not fit.
 */
export type Schema<T> = JsonSchema & { readonly title: string; readonly [VALUE]?: T };

export type ValueOf<S> = S extends Schema<infer T> ? T : never;

/** How a text is checked: a pattern that editors understand too, or a check of formats.ts. */
interface TextRule {
  readonly pattern?: string;
  readonly format?: string;
  readonly advice?: string;
  /** True: a `${NAME}` in it is not replaced. */
  readonly literal?: true;
}

export const text = (title: string, rule: TextRule = {}): Schema<string> => ({ type: "string", title, ...rule });

export const choice = <const T extends string>(words: readonly T[]): Schema<T> => ({
  type: "string",
  enum: words,
  title: `one of ${words.join(", ")}`,
});

export const yesOrNo: Schema<boolean> = { type: "boolean", title: "true or false" };

export const integer = (minimum: number, maximum: number): Schema<number> => ({
  type: "integer",
  minimum,
  maximum,
  title: `a whole number from ${minimum} to ${maximum}`,
});

/** A whole number from 0; null for no limit. */
export const limitOrNone = (maximum: number): Schema<number | null> => ({
  type: ["integer", "null"],
  minimum: 0,
  maximum,
  title: `a whole number from 0 to ${maximum}, or null for no limit`,
});

/** A number above 0. */
export const positive = (maximum: number, unit: string): Schema<number> => ({
  type: "number",
  exclusiveMinimum: 0,
  maximum,
  title: `a number of ${unit} above 0, at most ${maximum}`,
});

export const list = <T>(items: Schema<T>): Schema<readonly T[]> => ({ type: "array", items, title: "a list" });

type Properties = { readonly [name: string]: Schema<unknown> };

/** A map with certain keys. */
export const fields = <P extends Properties, R extends keyof P & string = never>(
  properties: P,
  required: readonly R[] = [],
): Schema<{ readonly [K in R]: ValueOf<P[K]> } & { readonly [K in Exclude<keyof P & string, R>]?: ValueOf<P[K]> }> => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
  title: `a map of ${Object.keys(properties).join(", ")}`,
});

/** A map of names. `special` are the values of certain names. */
export const record = <T>(
  title: string,
  names: Schema<string>,
  values: Schema<T>,
  special: { readonly [name: string]: Schema<T> } = {},
): Schema<{ readonly [name: string]: T }> => ({
  type: "object",
  propertyNames: names,
  properties: special,
  additionalProperties: values,
  title,
});

/** One of two types of value, of which one is a map. */
export const either = <A, B>(title: string, one: Schema<A>, other: Schema<B>): Schema<A | B> => ({
  anyOf: [one, other],
  title,
});

export const path = text("a path", { format: "path" });
/** A path of the policy, in which `~` is the home folder of the target. */
export const policyPath = text("a path", { format: "policy-path" });
export const variable = text("the name of an environment variable", {
  pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
  advice: "A name is letters, digits and _; patterns are not supported.",
});
export const host = text('a host ("example.org", "*.example.org", "10.0.0.7", "localhost:3000")', {
  format: "host",
  advice: "Omit scheme and path; a * may only be the first part.",
});
export const webUrl = (title: string) =>
  text(title, { format: "web-url", advice: "It begins with https:// or http://." });
/** A name that the user chooses. */
export const name = (format?: string) =>
  text('a name: a letter, then up to 63 letters, digits, "_" or "-"', {
    pattern: "^[a-zA-Z][a-zA-Z0-9_-]{0,63}$",
    ...(format !== undefined && { format }),
  });
/** The name of any tool: which exist is known only after plugins and servers have started. `*` is any characters. */
export const toolName = text("the name of a tool", { format: "tool" });
