import type { TLocalizedValidationError } from "typebox/error";
import type { Issue } from "../contract/result.ts";
import type { Json, JsonSchema } from "../contract/schema.ts";
import type { Tool } from "../contract/tool.ts";
import { coerce } from "./coerce.ts";
import { explainErrors } from "./explain.ts";
import { issuePath } from "./result.ts";

/** What validation says of a value. */
export type Validated =
  | { readonly ok: true; readonly input: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** A compiled schema. */
interface Compiled {
  Check(value: unknown): boolean;
  Errors(value: unknown): [boolean, TLocalizedValidationError[]];
}

/**
 * Checks a tool's raw input: as it came first; where that does not fit, with the values that do not fit coerced. The schema is
 * compiled once a tool. A Standard Schema runs after its JSON Schema, and what it returns is the input.
 *
 * @throws Error when a Standard Schema's validator throws, or the schema cannot be compiled, which `createToolkit` has checked: the tool's fault.
 */
export async function validate(tool: Pick<Tool, "input">, raw: unknown): Promise<Validated> {
  const schema = await compile(tool.input.json);
  let value = raw;
  if (!schema.Check(value)) {
    const repaired = coerce(value, schema.Errors(value)[1]);
    if (repaired === undefined || !schema.Check(repaired.value)) {
      return { ok: false, issues: explainErrors(tool.input.json, value, schema.Errors(value)[1]) };
    }
    value = repaired.value;
  }
  return tool.input.standard === undefined ? { ok: true, input: value } : validateFurther(tool.input.standard, value);
}

/** Returns why data does not fit a tool's output schema: "days[0].rain must be number". `undefined`: it fits. */
export async function outputFault(output: JsonSchema, data: Json): Promise<string | undefined> {
  const schema = await compile(output);
  if (schema.Check(data)) return undefined;
  const [error] = schema.Errors(data)[1];
  return `${issuePath(error?.instancePath ?? "")} ${error?.message ?? "does not fit"}`.trim();
}

// TypeBox stops at 8 by default; a model should learn of everything that is wrong at once.
const MAX_ERRORS = 64;

const compiled = new WeakMap<JsonSchema, Compiled>();

async function compile(json: JsonSchema): Promise<Compiled> {
  const known = compiled.get(json);
  if (known !== undefined) return known;
  const { Compile, Settings } = await import("./compiler.ts");
  Settings.Set({ maxErrors: MAX_ERRORS });
  const schema = Compile(json) as Compiled;
  compiled.set(json, schema);
  return schema;
}

async function validateFurther(standard: NonNullable<Tool["input"]["standard"]>, value: unknown): Promise<Validated> {
  const result = await standard["~standard"].validate(value);
  if (result.issues === undefined) return { ok: true, input: result.value };
  const issues = result.issues.map(({ path = [], message }) => {
    const keys = path.map((part) => (typeof part === "object" ? part.key : part));
    const at = keys.reduce<string>(
      (text, key) =>
        typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`,
      "",
    );
    return { path: at, message: at === "" ? message : `parameter "${at}": ${message}` };
  });
  return { ok: false, issues };
}
