import { distance } from "fastest-levenshtein";
import type { TLocalizedValidationError } from "typebox/error";
import type { Issue } from "../contract/result.ts";
import type { JsonSchema } from "../contract/schema.ts";
import { pointerPart, valueAt } from "../util/json-pointer.ts";
import { clip } from "../util/text.ts";
import { issuePath } from "./result.ts";

/** Something in a value that does not fit its schema. `pointer` is the JSON pointer of the value. */
export type Misfit =
  /** The object lacks these properties. */
  | {
      readonly kind: "missing";
      readonly pointer: string;
      readonly names: readonly string[];
      readonly schema: JsonSchema;
    }
  /** The object has these properties, which are not in its schema. */
  | {
      readonly kind: "unknown";
      readonly pointer: string;
      readonly names: readonly string[];
      readonly schema: JsonSchema;
    }
  /** The property's name or value, at the pointer, is not what `problem` demands: "expected string". */
  | {
      readonly kind: "name" | "value";
      readonly pointer: string;
      readonly problem: string;
      readonly schema: JsonSchema;
    };

/**
 * Returns what does not fit, by place. All branches of a union are joined ("expected one of …"), and errors that follow
 * from a wrong type are left out. If a union has branches of the value's type, only these count.
 *
 * @param errors those of the compiled schema
 */
export function misfits(schema: JsonSchema, errors: readonly TLocalizedValidationError[]): readonly Misfit[] {
  // "Schema is false" is dropped when another error says more: the name of an unknown parameter, or what the other
  // branches of a union expect.
  const telling = errors.filter(({ keyword }) => keyword !== "boolean");
  const places = new Map<string, TLocalizedValidationError[]>();
  for (const error of ofMeantBranches(telling.length > 0 ? telling : errors)) {
    places.set(error.instancePath, [...(places.get(error.instancePath) ?? []), error]);
  }
  return [...places].flatMap(([pointer, found]) => {
    const below = [...places.keys()].filter((other) => other.startsWith(`${pointer}/`));
    return misfitsAt(schema, pointer, found, below);
  });
}

/**
 * Describes what does not fit so that a model can act on it: where, what was expected, what came. `nameOf` names a
 * place in a message.
 */
export function explainErrors(
  schema: JsonSchema,
  value: unknown,
  errors: readonly TLocalizedValidationError[],
  nameOf: (path: string) => string = (path) => (path === "" ? "the arguments" : `parameter "${path}"`),
): readonly Issue[] {
  return misfits(schema, errors).flatMap((misfit): readonly Issue[] => {
    const path = issuePath(misfit.pointer);
    const within = (name: string) => (path === "" ? name : `${path}.${name}`);
    if (misfit.kind === "missing") return misfit.names.map(within).map(missingIssue);
    if (misfit.kind === "unknown")
      return misfit.names.map((name) => ({
        path: within(name),
        message: `unknown parameter "${within(name)}"${knownNames(misfit.schema, name)}`,
      }));
    const at = nameOf(path);
    const { problem } = misfit;
    // The parameter's description helps: a number that is too large may have the wrong unit.
    const { description } = misfit.schema;
    const meaning =
      typeof description === "string" && !/^(?:expected|no value) /.test(problem) ? `. ${path}: ${description}` : "";
    return [{ path, message: `${at}: ${problem}, got ${valueText(valueAt(value, misfit.pointer))}${meaning}` }];
  });
}

/** The issue about a parameter that is missing. */
export function missingIssue(path: string): Issue {
  return { path, message: `missing required parameter "${path}"` };
}

function misfitsAt(
  schema: JsonSchema,
  pointer: string,
  errors: readonly TLocalizedValidationError[],
  below: readonly string[],
): readonly Misfit[] {
  const found: Misfit[] = [];
  const expected = new Map<string, JsonSchema>();
  for (const error of errors) {
    const owner = ownerOf(schema, error);
    switch (error.keyword) {
      case "required":
        found.push({ kind: "missing", pointer, names: error.params.requiredProperties, schema: owner });
        break;
      case "additionalProperties": {
        // A name that has errors of its own is known: only its value does not fit.
        const names = error.params.additionalProperties.filter((name) => {
          return !below.some((other) => isBelow(other, `${pointer}/${pointerPart(name)}`));
        });
        if (names.length > 0) found.push({ kind: "unknown", pointer, names, schema: owner });
        break;
      }
      case "type":
        for (const type of [error.params.type].flat()) expected.set(type, owner);
        break;
      case "const":
        expected.set(JSON.stringify(error.params.allowedValue), owner);
        break;
      case "enum":
        for (const allowed of error.params.allowedValues) expected.set(JSON.stringify(allowed), owner);
        break;
      case "boolean":
        found.push({ kind: "value", pointer, problem: "no value is allowed here", schema: owner });
        break;
      case "anyOf":
      case "oneOf":
        break; // the errors of its branches say what they expect
      case "propertyNames":
        break; // so do the errors of the names
      default: {
        const kind = error.schemaPath.endsWith("/propertyNames") ? "name" : "value";
        found.push({ kind, pointer, problem: error.message, schema: owner });
      }
    }
  }
  if (expected.size > 0) {
    const words = [...expected.keys()];
    const problem = `expected ${words.length === 1 ? "" : "one of "}${words.join(", ")}`;
    const union = errors.find(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
    const [only] = expected.values();
    found.push({ kind: "value", pointer, problem, schema: (union && ownerOf(schema, union)) ?? only ?? {} });
  }
  if (found.length === 0 && below.length === 0) {
    const problem = errors[0]?.message ?? "does not fit";
    found.push({ kind: "value", pointer, problem, schema: errors[0] === undefined ? {} : ownerOf(schema, errors[0]) });
  }
  return found;
}

/** Leaves out a union's branches of other types than the value's, if a branch has the value's type. */
function ofMeantBranches(errors: readonly TLocalizedValidationError[]): readonly TLocalizedValidationError[] {
  const others = errors.filter(({ keyword, schemaPath }) => keyword === "type" && BRANCH.test(schemaPath));
  const isIn = (error: TLocalizedValidationError, branch: TLocalizedValidationError) =>
    isBelow(error.schemaPath, branch.schemaPath) && isBelow(error.instancePath, branch.instancePath);
  const isOfOther = (error: TLocalizedValidationError) => others.some((branch) => isIn(error, branch));
  const isMeant = (branch: TLocalizedValidationError) =>
    errors.some(
      (error) =>
        error.schemaPath.startsWith(branch.schemaPath.replace(BRANCH, "$1")) &&
        isBelow(error.instancePath, branch.instancePath) &&
        !isOfOther(error),
    );
  return errors.filter((error) => !others.some((branch) => isIn(error, branch) && isMeant(branch)));
}

const BRANCH = /(\/(?:anyOf|oneOf)\/)\d+$/;

function isBelow(path: string, above: string): boolean {
  return path === above || path.startsWith(`${above}/`);
}

function ownerOf(schema: JsonSchema, { schemaPath }: TLocalizedValidationError): JsonSchema {
  const owner = valueAt(schema, schemaPath.replace(/^#/, ""));
  return typeof owner === "object" && owner !== null ? (owner as JsonSchema) : {};
}

/** "; did you mean …?" when a known parameter has a similar name, else "; known: path, limit". */
function knownNames({ properties }: JsonSchema, name: string): string {
  if (typeof properties !== "object" || properties === null) return "";
  const names = Object.keys(properties);
  const near = names.find(
    (known) => distance(name.toLowerCase(), known.toLowerCase()) <= Math.max(1, known.length / 4),
  );
  if (near !== undefined) return `; did you mean "${near}"?`;
  return names.length === 0 ? "; there are no parameters" : `; known: ${names.join(", ")}`;
}

/** A value in a few words: `string "a"`, `an array of 3`. */
export function valueText(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  const text = typeof value === "bigint" ? `${value}` : (JSON.stringify(value) ?? typeof value);
  return typeof value === "string"
    ? `string ${clip(text, 60)}`
    : value === null
      ? "null"
      : `${typeof value} ${clip(text, 60)}`;
}
