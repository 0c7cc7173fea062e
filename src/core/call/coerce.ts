import type { TLocalizedValidationError } from "typebox/error";
import { isRounded, withExactNumbers } from "../util/exact-json.ts";
import { mendJson } from "../util/mend-json.ts";

/**
 * Converts values of the wrong JSON type that have one evident reading: "5" for a number, 5 for a string, "true" for a
 * boolean, a JSON text for an array or object, one element for an array. A `null` is removed where `null` is not
 * allowed: models write it for "not given". Changes only the places that the errors name, in a copy. `undefined` when
 * there was nothing to convert.
 */
export function coerce(value: unknown, errors: readonly TLocalizedValidationError[]): { value: unknown } | undefined {
  const copy = copyOf(value);
  if (copy === undefined) return undefined;
  const wanted = new Map<string, string[]>();
  for (const error of errors) {
    if (error.keyword !== "type") continue;
    const types = wanted.get(error.instancePath) ?? [];
    wanted.set(error.instancePath, types.concat(error.params.type));
  }
  const root = copy;
  let changed = false;
  for (const [pointer, types] of wanted) {
    const place = locate(root, pointer);
    if (place === undefined) continue;
    const read = readAs(types, place.holder[place.key]);
    if (read === undefined) continue;
    if (read.value === undefined && Array.isArray(place.holder)) continue; // a list would get a hole
    if (read.value === undefined) delete place.holder[place.key];
    else place.holder[place.key] = read.value;
    changed = true;
  }
  return changed ? root : undefined;
}

// A program (not a model) may pass values that cannot be copied, such as functions. Validation rejects them.
function copyOf(value: unknown): { value: unknown } | undefined {
  try {
    return { value: structuredClone(value) };
  } catch {
    return undefined;
  }
}

type Holder = { [key: string]: unknown };

function locate(root: { value: unknown }, pointer: string): { holder: Holder; key: string } | undefined {
  let holder: Holder = root;
  let key = "value";
  for (const part of pointer.split("/").slice(1)) {
    const next = holder[key];
    if (typeof next !== "object" || next === null) return undefined;
    holder = next as Holder;
    key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!Object.hasOwn(holder, key)) return undefined;
  }
  return { holder, key };
}

/** The value as the first of the wanted types that it can be read as; `{value: undefined}` removes it. */
function readAs(types: readonly string[], value: unknown): { value: unknown } | undefined {
  if (value === null) return { value: undefined };
  for (const type of types) {
    const read = READ[type]?.(value);
    if (read !== undefined) return { value: read };
  }
  return undefined;
}

const READ: { readonly [type: string]: (value: unknown) => unknown } = {
  number: readNumber,
  integer: (value) => {
    const read = readNumber(value);
    return Number.isInteger(read) ? read : undefined;
  },
  boolean: (value) => {
    if (value === 1 || (typeof value === "string" && /^\s*true\s*$/i.test(value))) return true;
    if (value === 0 || (typeof value === "string" && /^\s*false\s*$/i.test(value))) return false;
    return undefined;
  },
  string: (value) => {
    if (typeof value !== "number" && typeof value !== "boolean") return undefined;
    return isRounded(String(value)) ? undefined : String(value);
  },
  array: (value) => {
    const parsed = parsedText(value);
    return Array.isArray(parsed) ? parsed : [parsed];
  },
  object: (value) => {
    const parsed = parsedText(value);
    return typeof parsed === "object" && !Array.isArray(parsed) ? parsed : undefined;
  },
};

function readNumber(value: unknown): number | undefined {
  if (typeof value === "boolean") return Number(value);
  if (
    typeof value !== "string" ||
    isRounded(value.trim()) ||
    !/^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value)
  )
    return undefined;
  const read = Number(value);
  return Number.isFinite(read) ? read : undefined;
}

/** Parses a text that is JSON of an array or object, after safe repairs. Returns anything else unchanged. */
function parsedText(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(withExactNumbers(mendJson(value)));
  } catch {
    return value;
  }
}
