import { type Misfit, misfits } from "../../core/call/explain.ts";
import { loadCompiler } from "../../core/call/validate.ts";
import type { JsonSchema } from "../../core/contract/schema.ts";
import { pointerPart, valueAt } from "../../core/util/json-pointer.ts";
import { clip } from "../../core/util/text.ts";
import { FORMATS } from "./formats.ts";
import { didYouMean } from "../../core/util/nearest.ts";
import { TooMuch } from "./yaml.ts";

/** The state of reading one file, or the environment. */
export interface Reading {
  /** The environment for `${NAME}`; `undefined` if the file may not read it: such texts stay as they are written. */
  readonly env: NodeJS.ProcessEnv | undefined;
  /** Reports what is wrong with the value, or the key, that a path leads to. */
  report(path: readonly string[], message: string, of?: "key"): void;
  /** Reports a `${NAME}` that has no effect because the file may not read the environment. */
  leftOut(path: readonly string[], names: readonly string[]): void;
}

/** A value that fits its schema. */
export interface Checked {
  /**
   * Variables are replaced, except in a `literal` text, and an empty map is `{}`. Texts that are left out are as they
   * are written.
   */
  readonly value: unknown;
  /** The JSON pointers of texts with `${NAME}` that have no effect. */
  readonly leftOut: ReadonlySet<string>;
}

// Limits against a project's file that is made to keep Handrail busy.
const MOST_VALUES = 50_000;
const MOST_LEVELS = 32;

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** Returns functions that check values. `check` reports what does not fit. */
export async function loadCheck() {
  const compile = await loadCompiler(FORMATS);
  const check = (schema: JsonSchema, raw: unknown, path: readonly string[], reading: Reading): Result => {
    const { value, leftOut, replaced, isFine } = fill(schema, raw, path, reading);
    const compiled = compile(schema);
    const all = compiled.Check(value) ? [] : misfits(schema, compiled.Errors(value)[1]);
    const found = all.filter(({ pointer }) => !leftOut.has(pointer));
    for (const [index, misfit] of found.entries()) {
      const { pointer, kind } = misfit;
      const isTold = found.slice(0, index).some((other) => other.pointer === pointer && other.kind === kind);
      // Values of the environment are never valueText.
      if (!isTold) explain(misfit, raw, path, { report: reading.report, advises: !replaced.has(pointer) });
    }
    if (isFine && found.length === 0) return { value, leftOut };
    return { wrong: new Set(found.map(({ pointer }) => pointer)) };
  };
  /** As `check`, without the items of lists that do not fit, and for one item that should be in a list. */
  const salvage = (schema: JsonSchema, raw: unknown, wrong: ReadonlySet<string>, env: Reading["env"]): Result => {
    const isItem = schema["type"] === "array" && !Array.isArray(raw);
    const rest = isItem ? [raw] : withoutItems(raw, wrong);
    return check(schema, rest, [], { env, report: () => undefined, leftOut: () => undefined });
  };
  return { check, salvage };
}

/** The checked value, or the JSON pointers of the parts that are wrong. */
type Result = (Checked & { readonly wrong?: never }) | { readonly wrong: ReadonlySet<string> };

/** Removes what JSON pointers lead to: each with the item of the innermost list that it is part of. */
export function withoutItems(value: unknown, pointers: ReadonlySet<string>): unknown {
  const items = [...pointers].map((pointer) => {
    const parts = pointer.split("/");
    const isItem = (_: string, index: number) => Array.isArray(valueAt(value, parts.slice(0, index).join("/")));
    return parts.slice(0, parts.findLastIndex(isItem) + 1).join("/");
  });
  const walk = (each: unknown, pointer: string): unknown => {
    if (typeof each !== "object" || each === null) return each;
    const inner = Object.entries(each).filter(([name]) => !items.includes(`${pointer}/${pointerPart(name)}`));
    const left = inner.map(([name, one]) => [name, walk(one, `${pointer}/${pointerPart(name)}`)] as const);
    return Array.isArray(each) ? left.map(([, one]) => one) : Object.fromEntries(left);
  };
  return items.length === 0 ? value : walk(value, "");
}

/** Reports what was expected, what came, and what to do. */
function explain(
  misfit: Misfit,
  raw: unknown,
  path: readonly string[],
  { report, advises }: Pick<Reading, "report"> & { readonly advises: boolean },
): void {
  const { kind, pointer, schema } = misfit;
  const parts = partsOf(pointer);
  const at = [...path, ...parts];
  const got = kind === "name" ? parts.at(-1) : valueAt(raw, pointer);
  const expected = `expected ${String(schema["title"])}, got ${valueText(got)}`;
  if (kind === "missing") return report(at, `${expected}. It needs ${misfit.names.join(" and ")}.`);
  if (kind === "unknown") {
    const known = Object.keys(schema["properties"] ?? {});
    for (const name of misfit.names) report([...at, name], `unknown key. ${didYouMean(name, known)}`.trimEnd(), "key");
    return;
  }
  const advice = advises ? adviceOn(schema, got) : "";
  report(at, advice === "" ? expected : `${expected}. ${advice}`, kind === "name" ? "key" : undefined);
}

/**
 * Text, with `${NAME}` replaced by the environment variable, if there is one. `${NAME:-TEXT}` is TEXT if the variable
 * is empty or does not exist, as in a shell. A map after whose colon there is nothing is an empty map.
 */
function fill(schema: JsonSchema, raw: unknown, path: readonly string[], reading: Reading) {
  const leftOut = new Set<string>();
  const replaced = new Set<string>();
  let isFine = true;
  let values = 0;
  const text = (written: string, pointer: string): string => {
    const names = [...written.matchAll(VARIABLE)].map(([, name = ""]) => name);
    const { env } = reading;
    if (names.length === 0) return written;
    if (env === undefined) {
      leftOut.add(pointer);
      reading.leftOut([...path, ...partsOf(pointer)], names);
      return written;
    }
    replaced.add(pointer);
    return written.replace(VARIABLE, (found, name: string, otherwise?: string) =>
      otherwise === undefined ? (env[name] ?? found) : env[name] || otherwise,
    );
  };
  const walk = (of: JsonSchema, given: unknown, pointer: string, level: number): unknown => {
    if (++values > MOST_VALUES) throw new TooMuch(`more than ${MOST_VALUES} values`);
    if (level > MOST_LEVELS) throw new TooMuch(`nested more than ${MOST_LEVELS} levels deep`);
    if (typeof given === "string") {
      const value = of["literal"] === true ? given : text(given, pointer);
      if (value.includes("\0")) {
        isFine = false;
        reading.report([...path, ...partsOf(pointer)], "there is a NUL character in it; remove it");
      }
      return value;
    }
    if (given === null) return of["type"] === "object" ? {} : null;
    if (Array.isArray(given))
      return given.map((each, index) => walk(partOf(of, "items"), each, `${pointer}/${index}`, level + 1));
    if (typeof given !== "object") return given;
    const entries = Object.entries(given).map(([name, each]) => {
      const inner = partOf(partOf(of, "properties"), name, partOf(of, "additionalProperties"));
      return [name, walk(inner, each, `${pointer}/${pointerPart(name)}`, level + 1)] as const;
    });
    return Object.fromEntries(entries); // stores "__proto__" like any other key
  };
  const value = walk(schema, raw, "", path.length);
  return { value, leftOut, replaced, isFine };
}

/** Returns a part of a schema. Of a union, that of the branch which has it. */
function partOf(schema: JsonSchema, name: string, otherwise: JsonSchema = {}): JsonSchema {
  const branches = Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as readonly JsonSchema[]) : [];
  const owner = branches.find((each) => Object.hasOwn(each, name)) ?? schema;
  const part = Object.hasOwn(owner, name) ? owner[name] : undefined;
  return typeof part === "object" && part !== null ? (part as JsonSchema) : otherwise;
}

function adviceOn(schema: JsonSchema, value: unknown): string {
  const { type, format, advice, enum: words } = schema;
  if (value === null && type === "array") return "For an empty list write [].";
  if (value === null && (format === "path" || format === "policy-path"))
    return 'In YAML a bare ~ is nothing: for the home folder write "~".';
  if (typeof value !== "string") return "";
  const check = typeof format === "string" ? FORMATS[format] : undefined;
  const hint = Array.isArray(words) ? didYouMean(value, words as readonly string[]) : check?.(value);
  return hint || (type === "string" && typeof advice === "string" ? advice : "");
}

function partsOf(pointer: string): readonly string[] {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Describes a value to people. The password in a URL is not shown. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "a map";
  if (typeof value === "string") return JSON.stringify(clip(withoutPassword(value), 200));
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "nothing";
}

/** The text with "…" for the password of each URL in it: "postgres://ann:…@host/db". */
function withoutPassword(text: string): string {
  return text.replaceAll(/(\w:\/\/[^\s:/@]*:)[^\s/]*@/g, "$1…@");
}
