import type { Tool } from "../contract/tool.ts";
import { messageOf } from "../util/errors.ts";
import { pointerPart } from "../util/json-pointer.ts";
import { valueText } from "./explain.ts";
import { followerOf } from "./schema-references.ts";
import { SUBSCHEMAS } from "./subschemas.ts";

/**
 * Checks every tool's schemas. Does not use the validator's compiler, which loads slowly and misses faults: it accepts
 * any value for an unknown type, and no value for a `$ref` to nothing.
 *
 * @throws TypeError with the tool's name, the place in its schema and the fault.
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

/** The faults of an input schema, including a root that no arguments can fit. */
function* inRoot(root: unknown): Generator<Fault> {
  if (isRecord(root) && root["type"] !== undefined && ![root["type"]].flat().includes("object")) {
    yield {
      at: "#/type",
      problem: `expected "object", since the arguments are an object, got ${valueText(root["type"])}`,
    };
  }
  yield* faultsOf(root);
}

/**
 * Finds values that the meta-schemas of draft-07 and 2020-12 forbid, in keywords that decide what is valid; references
 * that are dangling, circular, or lead to too many schemas; and patterns that do not compile. Does not check other
 * keywords, or formats.
 */
function* faultsOf(root: unknown): Generator<Fault> {
  const follow = followerOf(root);
  const seen = new Set<unknown>();
  /** The results of `checksOf`. */
  const checks = new Map<unknown, number>();
  const references: Reference[] = [];
  yield* inSchema(root, "#");
  // Last, so that faults in referenced schemas are reported at their own place. The list may grow in this loop.
  for (const reference of references) yield* inReference(reference);

  function* inSchema(schema: unknown, at: string): Generator<Fault> {
    if (typeof schema === "boolean" || seen.has(schema)) return;
    if (!isRecord(schema)) {
      yield { at, problem: `expected a schema (an object, true or false), got ${valueText(schema)}` };
      return;
    }
    seen.add(schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (value === undefined && keyword !== "const") continue; // absent, as in JSON
      const place = `${at}/${pointerPart(keyword)}`;
      const rule = RULES.get(keyword);
      if (rule !== undefined && !rule.allows(value)) {
        yield { at: place, problem: `expected ${rule.expected}, got ${valueText(value)}` };
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
    } else if (checksOf(target) === Infinity) {
      yield { at, problem: `${JSON.stringify(name)} refers to itself, so no value can be checked against it` };
    } else if (checksOf(target) > MOST_CHECKS) {
      yield { at, problem: `${JSON.stringify(name)} checks a value against more than ${MOST_CHECKS} schemas` };
    } else {
      yield* inSchema(target, name.startsWith("#/") ? name : at);
    }
  }

  /** Returns how many schemas a value is checked against if it is checked against this one. Infinity for a circle. */
  function checksOf(schema: unknown): number {
    if (!isRecord(schema)) return 1;
    const known = checks.get(schema);
    if (known !== undefined) return known;
    checks.set(schema, Infinity); // for circular references
    let sum = 1;
    for (const part of inPlace(schema)) sum += checksOf(part);
    checks.set(schema, sum === Infinity ? sum : Math.min(sum, MOST_CHECKS + 1));
    return checks.get(schema) ?? sum;
  }

  /** Returns the schemas that check the same value: those inside a schema, and those that it references. */
  function inPlace(schema: { readonly [keyword: string]: unknown }): readonly unknown[] {
    const parts = IN_PLACE.flatMap((keyword): unknown => schema[keyword] ?? []);
    const named = IN_PLACE_BY_NAME.flatMap((keyword) => Object.values(schema[keyword] ?? {}));
    const referenced = [...REFERENCES].flatMap((keyword): unknown => {
      const name = schema[keyword];
      return typeof name === "string" ? follow(schema, name) : [];
    });
    return [...parts, ...named, ...referenced];
  }
}

/** The maximum number of schemas that check one value. Repeatedly branching references would take forever. */
const MOST_CHECKS = 10_000;

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

const IN_PLACE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] as const;
const IN_PLACE_BY_NAME = ["dependencies", "dependentSchemas"] as const;

const REFERENCES: ReadonlySet<string> = new Set(["$ref", "$dynamicRef"]);

const TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"] as const;

interface Rule {
  readonly expected: string;
  allows(value: unknown): boolean;
}

const isType = (value: unknown) => TYPES.some((type) => type === value);
const NUMBER: Rule = { expected: "a number", allows: (value) => typeof value === "number" };
const COUNT: Rule = {
  expected: "an integer of at least 0",
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
