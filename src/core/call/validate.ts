import type { TLocalizedValidationError } from "typebox/error";
import { ToolFailure } from "../contract/failure.ts";
import type { Issue } from "../contract/result.ts";
import type { Json, JsonSchema } from "../contract/schema.ts";
import type { Tool } from "../contract/tool.ts";
import { withDeadline } from "../util/deadline.ts";
import { isRounded } from "../util/exact-json.ts";
import { valueAt } from "../util/json-pointer.ts";
import { coerce } from "./coerce.ts";
import { explainErrors } from "./explain.ts";
import { issuePath } from "./result.ts";
import { roundedIn, withOwnNames, withoutNulls } from "./received.ts";

/** The result of a validation: the input to use, or the issues. */
export type Validated =
  | { readonly ok: true; readonly input: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** A compiled schema. */
interface Compiled {
  Check(value: unknown): boolean;
  Errors(value: unknown): [boolean, TLocalizedValidationError[]];
}

const unchecked = new WeakMap<object, Tool>();

/** Checks a tool's schemas when the tool is first called. For tools that are added where nothing can be awaited. */
export function checkSchemasLater(tool: Tool): void {
  unchecked.set(tool, tool);
}

/**
 * Validates a tool's raw input. Input that does not fit is coerced and validated again. The schema is compiled once per
 * tool. A Standard Schema runs after its JSON Schema, and its output is the input of the tool.
 *
 * @throws Error when the tool is faulty: its Standard Schema throws, or its JSON Schema does not compile or takes too
 *   long.
 */
export async function validate(tool: Pick<Tool, "input">, raw: unknown): Promise<Validated> {
  const named = unchecked.get(tool);
  if (named !== undefined) {
    (await import("./schema-fault.ts")).requireValidSchemas([named]);
    unchecked.delete(tool);
  }
  const { json, standard } = tool.input;
  const compile = compileOnce ?? (await loadCompiler());
  const fitting = branches(json) ? await inTime(() => fit(compile(json), json, raw)) : fit(compile(json), json, raw);
  return standard === undefined || !fitting.ok ? fitting : validateFurther(standard, fitting.input);
}

function fit(schema: Compiled, json: JsonSchema, raw: unknown): Validated {
  const value = withOwnNames(json, raw);
  const rounded = roundedIn(value);
  if (rounded.length > 0) return { ok: false, issues: rounded.map(roundedIssue) };
  if (schema.Check(value)) return { ok: true, input: value };
  const given = withoutNulls(json, value);
  if (given !== value && schema.Check(given)) return { ok: true, input: given };
  const repaired = coerce(given, schema.Errors(given)[1]);
  if (repaired !== undefined && schema.Check(repaired.value)) return { ok: true, input: repaired.value };
  const issues = explainErrors(json, value, schema.Errors(value)[1]);
  return { ok: false, issues: issues.map((issue) => withAdvice(issue, value)) };
}

const AS_TEXT = "Numbers hold integers exactly up to 9007199254740991; send it as text, where text is taken.";

function roundedIssue({ path, number }: ReturnType<typeof roundedIn>[number]): Issue {
  return { path, message: `parameter "${path}": ${number} came as a number, which is not exact. ${AS_TEXT}` };
}

/** Adds to an issue about an integer that a number would round (`withExactNumbers`) why it is not taken as one. */
function withAdvice(issue: Issue, value: unknown): Issue {
  const pointer = issue.path.replaceAll(/\[(\d+)\]/g, "/$1").replaceAll(".", "/");
  const given = valueAt(value, pointer.startsWith("/") ? pointer : `/${pointer}`);
  const isLong = typeof given === "string" && isRounded(given.trim());
  return isLong ? { ...issue, message: `${issue.message}. ${AS_TEXT}` } : issue;
}

/** How long a schema with references may take: the time can double with each level of a value. Milliseconds. */
const LONGEST_CHECK_MS = 1_000;

let deadline: ReturnType<typeof withDeadline> | undefined;

async function inTime(work: () => Validated): Promise<Validated> {
  deadline ??= withDeadline(LONGEST_CHECK_MS);
  const validated = (await deadline)(work);
  if (validated !== undefined) return validated;
  const seconds = LONGEST_CHECK_MS / 1_000;
  throw new ToolFailure(
    `the arguments could not be checked within ${seconds} s: the references in the tool's schema branch too often`,
    { hint: "Nothing was run. Fewer levels in the arguments take less time." },
  );
}

/** Returns why data does not fit a tool's output schema: "days[0].rain must be number". `undefined` when it fits. */
export async function outputFault(output: JsonSchema, data: Json): Promise<string | undefined> {
  const schema = (compileOnce ?? (await loadCompiler()))(output);
  if (schema.Check(data) || schema.Check(withNumbers(data))) return undefined;
  const [error] = schema.Errors(data)[1];
  return `${issuePath(error?.instancePath ?? "")} ${error?.message ?? "does not fit"}`.trim();
}

/** Returns data in which long integers, which came as texts (`withExactNumbers`), are numbers again, for a check. */
function withNumbers(data: Json): unknown {
  const text = JSON.stringify(data, (_, part: unknown) =>
    typeof part === "string" && isRounded(part) ? Number(part) : part,
  );
  return JSON.parse(text) as unknown;
}

// TypeBox stops at 8 errors by default; a model should see all errors at once.
const MAX_ERRORS = 64;

const compiled = new WeakMap<JsonSchema, Compiled>();
let loading: Promise<(json: JsonSchema) => Compiled> | undefined;
/** The loaded compiler: only the first call waits for it. */
let compileOnce: ((json: JsonSchema) => Compiled) | undefined;

/**
 * Loads the compiler once. It compiles each schema once.
 *
 * @param formats checks for the keyword `format`, besides the usual ones: each returns `undefined` for a valid text
 */
export async function loadCompiler(
  formats: { readonly [name: string]: (text: string) => string | undefined } = {},
): Promise<(json: JsonSchema) => Compiled> {
  const names = Object.entries(formats);
  if (names.length > 0) {
    const { Format } = await import("./compiler.ts");
    for (const [name, check] of names) Format.Set(name, (text) => check(text) === undefined);
  }
  loading ??= import("./compiler.ts").then(({ Compile, Settings }) => {
    Settings.Set({ maxErrors: MAX_ERRORS });
    compileOnce = (json) => {
      const known = compiled.get(json);
      if (known !== undefined) return known;
      const schema = Compile(json) as Compiled;
      compiled.set(json, schema);
      return schema;
    };
    return compileOnce;
  });
  return await loading;
}

const branching = new WeakMap<JsonSchema, boolean>();

/** Whether checking a value may take longer than its size and the schema's suggest: the schema has references. */
function branches(json: JsonSchema): boolean {
  const found = branching.get(json) ?? /"\$(?:ref|dynamicRef|recursiveRef)"/.test(JSON.stringify(json));
  branching.set(json, found);
  return found;
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
