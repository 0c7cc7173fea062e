import { distance } from "fastest-levenshtein";
import type { TLocalizedValidationError } from "typebox/error";
import type { Issue } from "../contract/result.ts";
import type { JsonSchema } from "../contract/schema.ts";
import { valueAt } from "../util/json-pointer.ts";
import { clip } from "../util/text.ts";
import { issuePath } from "./result.ts";

/**
 * Describes validation errors so that a model can act on them: where, what was expected, what came. Errors at one place
 * become one issue: all branches of a union together ("expected one of …"), and a wrong type without the errors that
 * follow from it. `nameOf` names a place in a message.
 */
export function explainErrors(
  schema: JsonSchema,
  value: unknown,
  errors: readonly TLocalizedValidationError[],
  nameOf: (path: string) => string = (path) => (path === "" ? "the arguments" : `parameter "${path}"`),
): readonly Issue[] {
  // "Schema is false" is dropped when another error says more: the name of an unknown parameter, or what the other
  // branches of a union expect.
  const telling = errors.filter(({ keyword }) => keyword !== "boolean");
  const places = new Map<string, TLocalizedValidationError[]>();
  for (const error of telling.length > 0 ? telling : errors) {
    places.set(error.instancePath, [...(places.get(error.instancePath) ?? []), error]);
  }
  return [...places].flatMap(([pointer, found]) => explainPlace(schema, value, pointer, found, nameOf));
}

function explainPlace(
  schema: JsonSchema,
  root: unknown,
  pointer: string,
  errors: readonly TLocalizedValidationError[],
  nameOf: (path: string) => string,
): readonly Issue[] {
  const path = issuePath(pointer);
  const value = valueAt(root, pointer);
  const at = nameOf(path);
  const issues: Issue[] = [];
  const expected = new Set<string>();
  for (const error of errors) {
    switch (error.keyword) {
      case "required":
        for (const name of error.params.requiredProperties) {
          const full = path === "" ? name : `${path}.${name}`;
          issues.push({ path: full, message: `missing required parameter "${full}"` });
        }
        break;
      case "additionalProperties":
        for (const name of error.params.additionalProperties) {
          const full = path === "" ? name : `${path}.${name}`;
          issues.push({
            path: full,
            message: `unknown parameter "${full}"${knownNames(schema, error.schemaPath, name)}`,
          });
        }
        break;
      case "type":
        for (const type of [error.params.type].flat()) expected.add(type);
        break;
      case "const":
        expected.add(JSON.stringify(error.params.allowedValue));
        break;
      case "enum":
        for (const allowed of error.params.allowedValues) expected.add(JSON.stringify(allowed));
        break;
      case "boolean":
        issues.push({ path, message: `${at}: no value is allowed here, got ${valueText(value)}` });
        break;
      case "anyOf":
      case "oneOf":
        break; // the errors of its branches say what they expect
      default:
        issues.push({
          path,
          message: `${at}: ${error.message}, got ${valueText(value)}${meaning(schema, error.schemaPath, path)}`,
        });
    }
  }
  if (expected.size > 0) {
    const [first = "", ...more] = expected;
    const wanted = more.length === 0 ? first : `one of ${[first, ...more].join(", ")}`;
    issues.push({ path, message: `${at}: expected ${wanted}, got ${valueText(value)}` });
  }
  if (issues.length === 0)
    issues.push({ path, message: `${at}: ${errors[0]?.message ?? "does not fit"}, got ${valueText(value)}` });
  return issues;
}

/** "; did you mean …?" when a known parameter has a similar name, else "; known: path, limit". */
function knownNames(schema: JsonSchema, schemaPath: string, name: string): string {
  const owner = valueAt(schema, schemaPath.replace(/^#/, ""));
  const properties =
    typeof owner === "object" && owner !== null && "properties" in owner ? owner.properties : undefined;
  if (typeof properties !== "object" || properties === null) return "";
  const names = Object.keys(properties);
  const near = names.find(
    (known) => distance(name.toLowerCase(), known.toLowerCase()) <= Math.max(1, known.length / 4),
  );
  if (near !== undefined) return `; did you mean "${near}"?`;
  return names.length === 0 ? "; there are no parameters" : `; known: ${names.join(", ")}`;
}

/** The parameter's description: a number that is too large may have the wrong unit. */
function meaning(schema: JsonSchema, schemaPath: string, path: string): string {
  const owner = valueAt(schema, schemaPath.replace(/^#/, ""));
  const isDescribed = typeof owner === "object" && owner !== null && "description" in owner;
  return isDescribed && typeof owner.description === "string" ? `. ${path}: ${owner.description}` : "";
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
