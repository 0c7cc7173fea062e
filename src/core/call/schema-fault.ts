import { Check, Errors, Meta, NextStack, Resolve, Stack } from "typebox/schema";
import type { JsonSchema } from "../contract/schema.ts";
import type { Tool } from "../contract/tool.ts";
import { messageOf, tried } from "../util/errors.ts";
import { pointerPart, valueAt } from "../util/json-pointer.ts";
import { words } from "../util/text.ts";
import { explainErrors, valueText } from "./explain.ts";
import { SUBSCHEMAS } from "./subschemas.ts";

/**
 * Checks every tool's schemas against the meta-schema of JSON Schema 2020-12, and checks that every reference leads to
 * a schema. The validator's compiler checks neither: it accepts any value for an unknown type, and no value for a
 * `$ref` to nothing. This module loads the validator, so import it only where schemas of others come in.
 *
 * @throws TypeError with the tool's name, the place in its schema and the fault.
 */
export function requireValidSchemas(tools: Iterable<Pick<Tool, "name" | "input" | "output">>): void {
  for (const { name, input, output } of tools) {
    const faults = { input: inputFault(input.json), output: output && schemaFault(output) };
    for (const [which, fault] of Object.entries(faults))
      if (fault !== undefined) throw new TypeError(`the ${which} schema of tool "${name}" is invalid at #${fault}`);
  }
}

/** The fault of a schema of arguments, as "/type: expected …". Arguments are an object, so it must allow objects. */
function inputFault(schema: JsonSchema): string | undefined {
  const { type = "object" } = schema as { readonly type?: unknown };
  return [type].flat().includes("object")
    ? schemaFault(schema)
    : `/type: expected "object", since the arguments are an object, got ${valueText(type)}`;
}

type Schema = { readonly [keyword: string]: unknown };

function schemaFault(given: JsonSchema): string | undefined {
  const text = JSON.stringify(given, (_, value: unknown) => (value instanceof RegExp ? value.source : value));
  const root = JSON.parse(text) as Schema;
  return metaFault(root, "") ?? referenceFault(root);
}

/**
 * The meta-schema of 2020-12, which includes the keywords of draft-07. Added is what only draft-07 allowed: a list in
 * `items`, and an `$id` that is an anchor.
 */
const META = structuredClone(Meta["https://json-schema.org/draft/2020-12/schema"]) as unknown as {
  readonly allOf: readonly [{ properties: { [name: string]: object } }, { properties: { [name: string]: object } }];
};
META.allOf[0].properties["$id"] = { type: "string" };
META.allOf[1].properties["items"] = { anyOf: [{ $dynamicRef: "#meta" }, { $ref: "#/$defs/schemaArray" }] };

function metaFault(schema: unknown, at: string): string | undefined {
  if (Check(META, schema)) return undefined;
  const [, errors] = Errors(META, schema);
  const pointer = errors[0]?.instancePath ?? "";
  const here = errors.filter(({ instancePath }) => instancePath === pointer);
  // The error of a pattern, or of a pattern property's name, does not give the reason.
  const [, keyword, name = ""] = /\/(pattern|patternProperties)(?:\/([^/]+))?$/.exec(pointer) ?? [];
  const pattern = keyword === "pattern" ? valueAt(schema, pointer) : name.replaceAll("~1", "/").replaceAll("~0", "~");
  const problem = keyword !== undefined && typeof pattern === "string" ? patternFault(pattern) : undefined;
  return problem === undefined
    ? explainErrors({}, schema, here, () => at + pointer)[0]?.message
    : `${at}${pointer}: ${problem}`;
}

/** Why a pattern does not compile with the flag `u`, as JSON Schema advises. */
function patternFault(pattern: string): string | undefined {
  try {
    return void RegExp(pattern, "u");
  } catch (error) {
    return messageOf(error);
  }
}

/** Keywords whose schemas check the same value. */
const IN_PLACE = new Set(words("allOf anyOf oneOf not if then else dependencies dependentSchemas"));
/** The maximum number of schemas that check one value. References that branch repeatedly would take forever. */
const MOST_CHECKS = 10_000;
const REMEDY = "Define it under $defs and refer to it as #/$defs/NAME; other documents are not loaded.";

/** The fault of a reference: it is dangling or circular, or leads to too many schemas. */
function referenceFault(root: Schema): string | undefined {
  /** By schema, the further schemas that check the same value: its subschemas, and those that it refers to. */
  const inPlace = new Map<unknown, unknown[]>();
  const references: ReturnType<typeof resolved>[] = [];
  const collect = (schema: unknown, at: string, outer: Scope): void => {
    if (!isSchema(schema) || inPlace.has(schema)) return;
    const scope = NextStack(outer, schema);
    const own = ["$ref", "$dynamicRef"].filter((keyword) => typeof schema[keyword] === "string");
    const found = own.map((keyword) => resolved(keyword, schema, scope, at));
    const sameValue = found.map(({ target }) => target);
    references.push(...found);
    inPlace.set(schema, sameValue);
    for (const [keyword, value] of Object.entries(schema)) {
      const holds = SUBSCHEMAS.get(keyword);
      if (holds === undefined) continue;
      const isOne = holds !== "named" && !Array.isArray(value);
      for (const [name, part] of isOne ? [["", value] as const] : Object.entries(value as Schema)) {
        if (IN_PLACE.has(keyword)) sameValue.push(part);
        collect(part, `${at}/${keyword}${isOne ? "" : `/${pointerPart(name)}`}`, scope);
      }
    }
  };
  collect(root, "", Stack({}, root));
  // The list grows in this loop: a reference can lead to a schema that has references of its own.
  for (const { target, name, at, scope } of references) {
    if (target === undefined) return `${at}: ${JSON.stringify(name)} refers to nothing in this schema. ${REMEDY}`;
    const place = name.startsWith("#/") ? name.slice(1) : at;
    const fault = inPlace.has(target) ? undefined : metaFault(target, place);
    if (fault !== undefined) return fault;
    collect(target, place, scope);
  }
  const counts = new Map<unknown, number>();
  const checksOf = (schema: unknown): number => {
    const known = counts.get(schema);
    if (known !== undefined) return known;
    counts.set(schema, Infinity); // for circular references
    const sum = (inPlace.get(schema) ?? []).reduce<number>((all, part) => all + checksOf(part), 1);
    const count = sum === Infinity ? sum : Math.min(sum, MOST_CHECKS + 1);
    counts.set(schema, count);
    return count;
  };
  for (const { target, name, at } of references) {
    const checks = isSchema(target) ? checksOf(target) : 1;
    const which = `${at}: ${JSON.stringify(name)}`;
    if (checks === Infinity) return `${which} refers to itself, so no value can be checked against it`;
    if (checks > MOST_CHECKS) return `${which} checks a value against more than ${MOST_CHECKS} schemas`;
  }
  return undefined;
}

/** The base address at a place in a schema, by which the validator resolves relative references. */
type Scope = ReturnType<typeof Stack>;

/** What a reference leads to, as the validator finds it. A reference that is not a valid address leads to nothing. */
function resolved(keyword: string, schema: Schema, scope: Scope, at: string) {
  const reference = { name: String(schema[keyword]), at: `${at}/${keyword}`, scope };
  const found = tried(() =>
    keyword === "$ref"
      ? Resolve.Ref(scope, schema as { $ref: string })
      : { schema: Resolve.DynamicRef(scope, schema as { $dynamicRef: string }), stack: scope },
  );
  return { ...reference, target: found?.schema as unknown, scope: found?.stack ?? scope };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
