import type { Json, JsonSchema } from "../../src/core/contract/schema.ts";

/** A field of a form, for one value of a tool's arguments. */
export type Field = FieldBase &
  (
    | { readonly kind: "text" | "number" | "boolean" | "json" }
    | { readonly kind: "choice"; readonly values: readonly Json[] }
    | { readonly kind: "list"; readonly item: Field }
    | { readonly kind: "object"; readonly fields: readonly Field[] }
  );

interface FieldBase {
  /** The property's name; "" for the arguments as a whole and for items of lists. Untrusted. */
  readonly name: string;
  /** Not escaped. Untrusted. */
  readonly description: string;
  readonly isRequired: boolean;
  readonly default?: Json;
}

/** What was entered for a field. `undefined` if nothing was. */
export type Entered = string | boolean | undefined | readonly Entered[] | { readonly [name: string]: Entered };

/** The value of a field, parsed from the entered text. */
export interface Input {
  /** Absent when nothing is sent for the field. */
  readonly value?: Json;
  /** Why values cannot be sent, by path (`edits[0].old_text`). */
  readonly problems: ReadonlyMap<string, string>;
}

/** The maximum depth of fields. Deeper schemas, including recursive ones, are entered as JSON. */
const MAX_DEPTH = 5;
const MAX_FIELDS = 100;
const KINDS: { readonly [type: string]: "text" | "number" | "boolean" } = {
  string: "text",
  number: "number",
  integer: "number",
  boolean: "boolean",
};

/**
 * Returns the field for a JSON Schema. A schema without a field of its own, such as a union of several types, is
 * entered as JSON; the server validates it in any case.
 */
export function fieldOf(schema: unknown, root: unknown = schema, base: Partial<FieldBase> = {}, depth = 0): Field {
  const { of, description } = resolved(schema, root);
  const given = of["default"] as Json | undefined;
  const field: FieldBase = {
    ...{ name: "", isRequired: false, description, ...base },
    ...(given !== undefined && { default: given }),
  };
  const values = choices(of);
  if (values !== undefined) return { ...field, kind: "choice", values };
  const type = typeOf(of);
  const simple = KINDS[type ?? ""];
  if (simple !== undefined) return { ...field, kind: simple };
  if (depth >= MAX_DEPTH) return { ...field, kind: "json" };
  if (type === "array" && isObject(of["items"])) {
    const item = fieldOf(of["items"], root, { isRequired: true }, depth + 1);
    return item.kind === "json" ? { ...field, kind: "json" } : { ...field, kind: "list", item };
  }
  const properties = Object.entries(isObject(of["properties"]) ? of["properties"] : {});
  if (type !== "object" || properties.length > MAX_FIELDS || (properties.length === 0 && depth > 0)) {
    return { ...field, kind: "json" };
  }
  const required = Array.isArray(of["required"]) ? of["required"] : [];
  const fields = properties.map(([name, each]) =>
    fieldOf(each, root, { name, isRequired: required.includes(name) }, depth + 1),
  );
  const sorted = fields.toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired));
  return { ...field, kind: "object", fields: sorted };
}

/** Returns the path of a field within another one. */
export function pathIn(path: string, name: string | number): string {
  if (typeof name === "number") return `${path}[${name}]`;
  return path === "" ? name : `${path}.${name}`;
}

/**
 * Returns what is sent for a field. A value that does not fit the schema is sent unchanged, because the server explains
 * the error best.
 */
export function inputOf(field: Field, entered: Entered, path = ""): Input {
  const problems = new Map<string, string>();
  const sent = (value: Json | undefined): Input => ({ ...(value !== undefined && { value }), problems });
  switch (field.kind) {
    case "text":
      return sent(typeof entered === "string" && (entered !== "" || field.isRequired) ? entered : undefined);
    case "number": {
      const text = typeof entered === "string" ? entered.trim() : "";
      if (text === "") return sent(undefined);
      return sent(Number.isFinite(Number(text)) ? Number(text) : text);
    }
    case "boolean":
      if (typeof entered !== "boolean") return sent(field.isRequired ? field.default === true : undefined);
      return sent(entered || field.isRequired || field.default === true ? entered : undefined);
    case "choice":
      return sent(typeof entered === "string" && entered !== "" ? field.values[Number(entered)] : undefined);
    case "json":
      if (typeof entered !== "string" || entered.trim() === "") return sent(undefined);
      try {
        return sent(JSON.parse(entered) as Json);
      } catch (error) {
        problems.set(path, `Expected JSON. ${error instanceof Error ? error.message : ""}`.trim());
        return sent(undefined);
      }
    case "list": {
      const items = Array.isArray(entered) ? (entered as readonly Entered[]) : [];
      if (items.length === 0) return sent(field.isRequired ? [] : undefined);
      const inputs = items.map((each, index) => inputOf(field.item, each, pathIn(path, index)));
      for (const each of inputs) for (const [at, problem] of each.problems) problems.set(at, problem);
      return sent(inputs.map(({ value }) => value ?? null));
    }
    case "object": {
      const given: { readonly [name: string]: Entered } = isObject(entered) ? entered : {};
      const value: { [name: string]: Json } = {};
      for (const each of field.fields) {
        const input = inputOf(each, given[each.name], pathIn(path, each.name));
        for (const [at, problem] of input.problems) problems.set(at, problem);
        // `defineProperty`: a parameter may be called __proto__.
        if (input.value !== undefined) {
          Object.defineProperty(value, each.name, { value: input.value, enumerable: true });
        }
      }
      return sent(Object.keys(value).length > 0 || field.isRequired || path === "" ? value : undefined);
    }
  }
}

/** Returns what a field shows for a value that it already has. */
export function enteredOf(field: Field, value: Json | undefined): Entered {
  if (value === undefined) return undefined;
  if (field.kind === "object") {
    const given = isObject(value) ? value : {};
    const entries = field.fields.map((each) => [each.name, enteredOf(each, given[each.name] as Json)] as const);
    return Object.fromEntries(entries);
  }
  if (field.kind === "list") return Array.isArray(value) ? value.map((each: Json) => enteredOf(field.item, each)) : [];
  if (field.kind === "choice") {
    const index = field.values.indexOf(value);
    return index === -1 ? undefined : String(index);
  }
  return typeof value === "string" || typeof value === "boolean" ? value : JSON.stringify(value);
}

/** Returns the required fields of a form that have no value, by path. */
export function missingIn(form: Extract<Field, { kind: "object" }>, value: Json): ReadonlyMap<string, string> {
  const given = isObject(value) ? value : {};
  const missing = form.fields.filter(
    ({ name, isRequired }) => isRequired && [undefined, ""].includes(given[name] as string | undefined),
  );
  return new Map(missing.map(({ name }) => [name, "Fill this in."]));
}

/**
 * Parses a validation error into messages by path: `validation error: parameter "limit": expected number, got string
 * "x"`.
 */
export function problemsIn(text: string): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const line of text.split(/(?:^|\n)validation error: /).slice(1)) {
    const [, path = ""] = /^(?:(?:missing required |unknown )?parameter )"((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
    const before = problems.get(path);
    problems.set(path, before === undefined ? line : `${before}\n${line}`);
  }
  return problems;
}

/** Follows references. Of a nullable type, picks the type that is not null. */
function resolved(schema: unknown, root: unknown): { readonly of: JsonSchema; readonly description: string } {
  let of: JsonSchema = isObject(schema) ? schema : {};
  let description = wordsOf(of);
  for (let steps = 0; steps < 8; steps += 1) {
    const next = nextOf(of, root);
    if (next === undefined) break;
    of = next;
    description ||= wordsOf(of);
  }
  return { of, description };
}

function nextOf(of: JsonSchema, root: unknown): JsonSchema | undefined {
  const { $ref: reference } = of;
  if (typeof reference === "string" && reference.startsWith("#/")) {
    let found: unknown = root;
    for (const part of reference.slice(2).split("/")) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
    }
    return isObject(found) ? found : undefined;
  }
  const branches = branchesOf(of)?.filter((each) => !isObject(each) || each["type"] !== "null");
  const [only] = branches ?? [];
  return branches?.length === 1 && isObject(only) ? only : undefined;
}

function branchesOf(of: JsonSchema): readonly unknown[] | undefined {
  const branches = of["anyOf"] ?? of["oneOf"];
  return Array.isArray(branches) ? branches : undefined;
}

function choices(of: JsonSchema): readonly Json[] | undefined {
  if (Array.isArray(of["enum"])) return of["enum"] as Json[];
  const branches = branchesOf(of);
  if (branches === undefined || branches.length === 0) return undefined;
  const constant = branches.every((each) => isObject(each) && "const" in each);
  return constant ? branches.map((each) => (each as { readonly const: Json }).const) : undefined;
}

function typeOf(of: JsonSchema): string | undefined {
  const types = [of["type"]].flat().filter((each) => each !== "null");
  if (types.length !== 1) return isObject(of["properties"]) && types.length === 0 ? "object" : undefined;
  return typeof types[0] === "string" ? types[0] : undefined;
}

function wordsOf(of: JsonSchema): string {
  return typeof of["description"] === "string" ? of["description"] : "";
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
