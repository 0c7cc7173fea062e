import type { Tool } from "../contract/tool.ts";
import { messageOf } from "../util/errors.ts";
import { pointerPart } from "../util/json-pointer.ts";
import { shown } from "./explain.ts";
import { type Follow, followerOf } from "./schema-references.ts";
import { SUBSCHEMAS } from "./subschemas.ts";

/**
 * Checks every tool's schemas. The validator's compiler is not used: it takes longer to load than a command line call runs, and it misses
 * faults. It treats an unknown type as any type, and a `$ref` to nothing as a schema that no value fits.
 *
 * @throws TypeError with the tool's name, the place in its schema and what is wrong there.
 */
export function requireValidSchemas(tools: Iterable<Tool>): void {
  for (const { name, input, output } of tools) {
    const faults = { input: inRoot(input.json), output: output === undefined ? [] : faultsOf(output) };
    for (const [which, found] of Object.entries(faults)) {
      for (const { at, problem } of found)
        throw new TypeError(`the ${which} schema of tool "${name}" is invalid at ${at}: ${problem}`);
    }
  }
}

interface Fault {
  /** A JSON pointer as a URI fragment: "#/properties/city/type". */
  readonly at: string;
  readonly problem: string;
}

interface Reference {
  readonly schema: object;
  readonly name: string;
  readonly at: string;
}

/** The faults of an input schema, a root among them that no arguments can fit. */
function* inRoot(root: unknown): Generator<Fault> {
  if (isRecord(root) && root["type"] !== undefined && ![root["type"]].flat().includes("object")) {
    yield { at: "#/type", problem: `expected "object", since the arguments are an object, got ${shown(root["type"])}` };
  }
  yield* faultsOf(root);
}

/**
 * Finds values that the meta-schemas of draft-07 and 2020-12 forbid, in keywords that decide what is valid; references to nothing and in circles;
 * and patterns that do not compile. Other keywords, and formats, are not checked.
 */
function* faultsOf(root: unknown): Generator<Fault> {
  const follow = followerOf(root);
  const seen = new Set<unknown>();
  const references: Reference[] = [];
  yield* inSchema(root, "#");
  // Last, so that what they refer to has been checked where it is. The list grows while schemas are found that only references lead to.
  for (const reference of references) yield* inReference(reference);

  function* inSchema(schema: unknown, at: string): Generator<Fault> {
    if (typeof schema === "boolean" || seen.has(schema)) return;
    if (!isRecord(schema)) {
      yield { at, problem: `expected a schema (an object, true or false), got ${shown(schema)}` };
      return;
    }
    seen.add(schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined && keyword !== "const") continue; // left out, as in JSON
      const place = `${at}/${pointerPart(keyword)}`;
      const rule = RULES.get(keyword);
      if (rule !== undefined && !rule.allows(value)) {
        yield { at: place, problem: `expected ${rule.expected}, got ${shown(value)}` };
        continue;
      }
      if (SUBSCHEMAS.has(keyword)) yield* inSubschemas(keyword, value, place);
      if (keyword === "pattern" && typeof value === "string") yield* inPattern(value, place);
      if (REFERENCES.has(keyword) && typeof value === "string") references.push({ schema, name: value, at: place });
    }
  }

  function* inSubschemas(keyword: string, value: unknown, at: string): Generator<Fault> {
    const holds = SUBSCHEMAS.get(keyword);
    if (Array.isArray(value) && holds !== "one") {
      for (const [index, part] of value.entries()) yield* inSchema(part, `${at}/${index}`);
      return;
    }
    if (holds !== "named") {
      yield* inSchema(value, at);
      return;
    }
    for (const [name, part] of Object.entries(value ?? {})) {
      const place = `${at}/${pointerPart(name)}`;
      if (keyword === "patternProperties") yield* inPattern(name, place);
      if (part !== undefined && !(keyword === "dependencies" && isNames(part))) yield* inSchema(part, place);
    }
  }

  function* inReference({ schema, name, at }: Reference): Generator<Fault> {
    const target = follow(schema, name);
    if (target === undefined) {
      const remedy = "Define it under $defs and refer to it as #/$defs/NAME; other documents are not loaded.";
      yield { at, problem: `${JSON.stringify(name)} refers to nothing in this schema. ${remedy}` };
    } else if (leadsTo(schema, target, follow)) {
      yield { at, problem: `${JSON.stringify(name)} leads back to itself, so no value can be checked against it` };
    } else {
      yield* inSchema(target, name.startsWith("#/") ? name : at);
    }
  }
}

function* inPattern(pattern: string, at: string): Generator<Fault> {
  try {
    compiled(pattern);
  } catch (error) {
    yield { at, problem: messageOf(error) };
  }
}

/** The validator compiles patterns with this flag, as JSON Schema advises. */
function compiled(pattern: string): RegExp {
  return new RegExp(pattern, "u");
}

/** Whether checking a value against `from` checks the same value against `goal`. */
function leadsTo(goal: unknown, from: unknown, follow: Follow, met = new Set<unknown>()): boolean {
  if (from === goal) return true;
  if (!isRecord(from) || met.has(from)) return false;
  met.add(from);
  const next = IN_PLACE.flatMap((keyword): unknown => from[keyword] ?? []);
  if (typeof from["$ref"] === "string") next.push(follow(from, from["$ref"]));
  return next.some((schema) => leadsTo(goal, schema, follow, met));
}

const IN_PLACE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] as const;

const REFERENCES: ReadonlySet<string> = new Set(["$ref", "$dynamicRef"]);

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"] as const;

interface Rule {
  readonly expected: string;
  allows(value: unknown): boolean;
}

const isType = (value: unknown) => TYPES.some((type) => type === value);
const NUMBER: Rule = { expected: "a number", allows: (value) => typeof value === "number" };
const COUNT: Rule = {
  expected: "a whole number from 0 on",
  allows: (value) => Number.isInteger(value) && Number(value) >= 0,
};
const TEXT: Rule = { expected: "a string", allows: (value) => typeof value === "string" };
const SCHEMAS: Rule = { expected: "a list of schemas", allows: Array.isArray };
const SOME_SCHEMAS: Rule = {
  expected: "a list of at least one schema",
  allows: (value) => Array.isArray(value) && value.length > 0,
};
const NAMED: Rule = { expected: "an object of schemas", allows: isRecord };

const RULES: ReadonlyMap<string, Rule> = new Map(
  Object.entries({
    type: {
      expected: `one of ${TYPES.join(", ")}, or a list of them`,
      allows: (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
    },
    const: { expected: "a JSON value", allows: (value) => value !== undefined },
    enum: { expected: "a list of values", allows: Array.isArray },
    pattern: { expected: "a string", allows: (value) => typeof value === "string" || value instanceof RegExp },
    required: { expected: "a list of names", allows: isNames },
    dependentRequired: {
      expected: "an object of lists of names",
      allows: (value) => isRecord(value) && Object.values(value).every(isNames),
    },
    multipleOf: { expected: "a number above 0", allows: (value) => typeof value === "number" && value > 0 },
    uniqueItems: { expected: "true or false", allows: (value) => typeof value === "boolean" },
    ...Object.fromEntries(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"].map((name) => [name, NUMBER])),
    ...Object.fromEntries(
      ["Length", "Items", "Properties", "Contains"].flatMap((what) => [
        [`min${what}`, COUNT],
        [`max${what}`, COUNT],
      ]),
    ),
    ...Object.fromEntries([...REFERENCES].map((name) => [name, TEXT])),
    ...Object.fromEntries(["allOf", "anyOf", "oneOf"].map((name) => [name, SOME_SCHEMAS])),
    prefixItems: SCHEMAS,
    ...Object.fromEntries([...SUBSCHEMAS].filter(([, holds]) => holds === "named").map(([name]) => [name, NAMED])),
  } satisfies { [keyword: string]: Rule }),
);

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
