import { isDeepStrictEqual } from "node:util";
import type { JsonSchema, MutableJson, ParametersSchema } from "../contract/schema.ts";
import { clip } from "../util/text.ts";
import { wellFormed } from "../util/well-formed.ts";
import { fittedNames } from "./property-names.ts";
import type { ProviderRules } from "./provider-rules.ts";
import { referredBy } from "./schema-views.ts";
import { SUBSCHEMAS } from "./subschemas.ts";
import { type PlainSchema, changed, isPlain, parametersSchema, shownSchema, withEnum } from "./shown-schema.ts";

/** After how many schemas references are replaced by any value, and how deep a schema may refer to itself. */
const MOST_INLINED = 300;
const DEEPEST_SELF = 2;

/** How much of a rule is shown as JSON, in characters. */
const SHOWN = 600;

/** A schema for a provider, and what it can no longer say, in words: "" if nothing. */
export interface FittedSchema {
  readonly schema: ParametersSchema;
  readonly rule: string;
}

/**
 * Fits the schema of a tool's arguments to what a provider takes. It may accept more than the tool does, and then says
 * so in words: calls are checked against the tool's own schema. Names of properties are `fittedNames`; `withOwnNames`
 * maps arguments back.
 */
export function fitSchema(json: JsonSchema, rules: ProviderRules): FittedSchema {
  const shown = wellFormed(shownSchema(json)) as PlainSchema;
  const plain = needsInlining(shown, rules) ? inlined(shown) : shown;
  const parts = changed(plain, (schema) => fitPart(withoutBooleans(schema), rules));
  const { schema, rule } = flattened(parts, rules.notAtTop);
  const named = changed(schema, (part) => withNames(rules.closed ? withKnownRequired(part) : part));
  return { schema: parametersSchema(named), rule };
}

/** Whether references lead elsewhere than to a definition, or are not taken. Flattening would break these. */
function needsInlining(schema: PlainSchema, { inlines, notAtTop }: ProviderRules): boolean {
  const references = JSON.stringify(schema).match(/"\$ref":"[^"]*"/g) ?? [];
  if (references.length === 0) return false;
  if (inlines || Object.keys(schema).some((keyword) => notAtTop.has(keyword))) return true;
  return references.some((each) => !/:"#\/(\$defs|definitions)\/[\w.-]+"$/.test(each));
}

/** Replaces each reference by what it refers to. A schema within itself is replaced, at some depth, by any value. */
function inlined(root: PlainSchema): PlainSchema {
  let count = 0;
  const expand = (schema: PlainSchema, above: readonly PlainSchema[]): PlainSchema => {
    count++;
    const { $ref, $defs: _, definitions: __, ...beside } = schema;
    const rest = changedBelow(beside, (part) => expand(part, above));
    if ($ref === undefined) return rest;
    const found = referredBy(schema, root) as PlainSchema | undefined;
    const isDeep = above.filter((each) => each === found).length >= DEEPEST_SELF || count > MOST_INLINED;
    if (found === undefined || isDeep) return { description: `Any value: ${textOf($ref)}`, ...rest };
    return { ...expand(found, [...above, found]), ...rest };
  };
  return expand(root, []);
}

/** Applies a change to the schemas directly below. */
function changedBelow(schema: PlainSchema, change: (part: PlainSchema) => PlainSchema): PlainSchema {
  return changed(schema, change, 1);
}

/** Schemas that are `true` or `false`, and a list of schemas in `items`, in a form that every provider takes. */
function withoutBooleans(schema: PlainSchema): PlainSchema {
  const { items, properties, ...rest } = schema;
  const result: PlainSchema = {};
  for (const [keyword, value] of Object.entries(rest)) {
    const holds = SUBSCHEMAS.get(keyword);
    if (BRANCHES.has(keyword) && Array.isArray(value))
      result[keyword] = value.map((each) => (each === true ? {} : each)).filter(isPlain);
    else if (holds === "list" && Array.isArray(value)) result[keyword] = value.map(orAny);
    else if (holds === "named" && isPlain(value))
      result[keyword] = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, orAny(part)]));
    else result[keyword] = value;
  }
  if (isPlain(properties)) {
    const usable = Object.entries(properties).flatMap(([name, part]) => (part === false ? [] : [[name, orAny(part)]]));
    result["properties"] = Object.fromEntries(usable) as PlainSchema;
  }
  const { prefixItems } = rest;
  const tuple = Array.isArray(items) ? items : Array.isArray(prefixItems) && !isPlain(items) ? prefixItems : undefined;
  if (tuple !== undefined) result["items"] = tuple.length === 0 ? {} : { anyOf: tuple.map(orAny) };
  else if (items !== undefined) result["items"] = orAny(items);
  return result;
}

function orAny(part: MutableJson): MutableJson {
  return isPlain(part) ? part : {};
}

/** Fits one schema, whose inner schemas are fitted. */
function fitPart(given: PlainSchema, rules: ProviderRules): PlainSchema {
  const { nowhere, closed, textChoices, formats } = rules;
  const taken = flattened(given, nowhere);
  const hasUnion = closed && isPlain(taken.schema["properties"]);
  const { schema: flat, rule } = flattened(taken.schema, hasUnion ? UNIONS : NONE);
  const said = [taken.rule, rule].filter((each) => each !== "");
  const { enum: choices, format, ...rest } = flat;
  const schema: PlainSchema = { ...rest };
  if (format !== undefined) {
    if (formats === undefined || formats.has(textOf(format))) schema["format"] = format;
    else said.push(`Format: ${textOf(format)}.`);
  }
  if (Array.isArray(choices)) {
    const texts = choices.filter((choice) => typeof choice === "string" && choice !== "");
    const others = choices.filter((choice) => choice !== "" && choice !== null && !texts.includes(choice));
    if (!textChoices) schema["enum"] = choices;
    else if (others.length > 0)
      said.push(`One of: ${clip(choices.map((each) => JSON.stringify(each)).join(", "), SHOWN)}.`);
    else if (texts.length > 0) schema["enum"] = texts;
  }
  return withWords(schema, said);
}

function withKnownRequired(schema: PlainSchema): PlainSchema {
  const { required, ...rest } = schema;
  if (!Array.isArray(required)) return schema;
  const { properties } = rest;
  const known = required.filter((name) => isPlain(properties) && Object.hasOwn(properties, textOf(name)));
  return known.length === 0 ? rest : { ...rest, required: known };
}

function withWords(schema: PlainSchema, said: readonly string[]): PlainSchema {
  if (said.length === 0) return schema;
  const { description } = schema;
  const before = typeof description === "string" ? [description.replace(/([^.!?:])$/, "$1.")] : [];
  return { ...schema, description: [...before, ...said].join(" ") };
}

/** Gives properties the names that providers take, with the tool's own in the description. */
function withNames(schema: PlainSchema): PlainSchema {
  const { properties, required } = schema;
  if (!isPlain(properties)) return schema;
  const names = fittedNames(properties);
  if ([...names].every(([own, fitted]) => own === fitted)) return schema;
  const renamed = Object.entries(properties).map(([own, part]): [string, MutableJson] => {
    const fitted = names.get(own) ?? own;
    return [fitted, fitted === own || !isPlain(part) ? part : withWords(part, [`The tool's name for it is ${own}`])];
  });
  return {
    ...schema,
    properties: Object.fromEntries(renamed),
    ...(Array.isArray(required) && { required: required.map((name) => names.get(textOf(name)) ?? name) }),
  };
}

/**
 * Writes the refused keywords of a schema otherwise: parts and branches become one schema, the rest a rule in words.
 */
function flattened(schema: PlainSchema, refused: ReadonlySet<string>): { schema: PlainSchema; rule: string } {
  const found = Object.entries(schema).filter(([keyword]) => refused.has(keyword));
  if (found.length === 0) return { schema, rule: "" };
  let flat = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !refused.has(keyword)));
  const rules: string[] = [];
  const other: PlainSchema = {};
  for (const [keyword, value] of found) {
    const parts = (Array.isArray(value) ? value.filter(isPlain) : []).map((part) => flattened(part, refused));
    if (keyword === "allOf") {
      flat = parts.reduce((all, part) => merged(all, part.schema), flat);
      rules.push(...parts.map(({ rule }) => rule));
    } else if (keyword === "anyOf" || keyword === "oneOf") {
      const { properties: before } = flat;
      const which = keyword === "oneOf" ? "exactly one" : "at least one";
      const sets = parts.map((part) => summary(part.schema, isPlain(before) ? before : {}));
      flat = merged(flat, united(parts.map((part) => part.schema)));
      rules.push(`Give ${which} of these: ${clip(sets.join(" or "), SHOWN)}.`);
    } else if (!SILENT.has(keyword)) other[keyword] = value;
  }
  if (Object.keys(other).length > 0) rules.push(`The value must also fit ${clip(JSON.stringify(other), SHOWN)}.`);
  return { schema: flat, rule: rules.filter((rule) => rule !== "").join(" ") };
}

const NONE: ReadonlySet<string> = new Set();
const UNIONS: ReadonlySet<string> = new Set(["anyOf", "oneOf"]);
const BRANCHES: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf"]);

/** Keywords without which a schema says the same. */
const SILENT: ReadonlySet<string> = new Set(["$schema", "$id", "id", "$comment", "$defs", "definitions", "$anchor"]);

/** What a value of both schemas may be: properties of both, required by either. */
function merged(one: PlainSchema, other: PlainSchema): PlainSchema {
  const properties = joined(one["properties"], other["properties"], (part, second) => merged(part, second));
  const required = [one["required"], other["required"]].flatMap((names) => (Array.isArray(names) ? names : []));
  return {
    ...other,
    ...one,
    ...(properties !== undefined && { properties }),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  };
}

/** What a value of any of the schemas may be: properties of all, required by each. */
function united([first = {}, ...others]: readonly PlainSchema[]): PlainSchema {
  let { properties, required } = first;
  for (const other of others) {
    properties = joined(properties, other["properties"], (one, two) => withEnum({ anyOf: [one, two] }));
    const theirs = other["required"];
    required = Array.isArray(required) && Array.isArray(theirs) ? required.filter((name) => theirs.includes(name)) : [];
  }
  const isRequired = Array.isArray(required) && required.length > 0;
  return { ...(properties !== undefined && { properties }), ...(isRequired && { required }) };
}

function joined(
  one: MutableJson | undefined,
  other: MutableJson | undefined,
  both: (one: PlainSchema, other: PlainSchema) => PlainSchema,
): PlainSchema | undefined {
  if (!isPlain(one) || !isPlain(other)) return isPlain(one) ? one : isPlain(other) ? other : undefined;
  const result = { ...one };
  for (const [name, part] of Object.entries(other)) {
    const own = Object.hasOwn(one, name) ? one[name] : undefined;
    const same = own === undefined || isDeepStrictEqual(own, part);
    result[name] = same ? part : isPlain(own) && isPlain(part) ? both(own, part) : {};
  }
  return result;
}

/** One branch in words: "id and type = \"email\""; without required properties those that it has, or its JSON. */
function summary(branch: PlainSchema, known: PlainSchema): string {
  const { properties, required } = branch;
  const own = isPlain(properties) ? properties : {};
  const names = Array.isArray(required) && required.length > 0 ? required.map(String) : Object.keys(own);
  if (names.length === 0) return JSON.stringify(branch);
  const described = names.map((name) => {
    const part = own[name] ?? known[name];
    const choices = isPlain(part) && Array.isArray(part["enum"]) ? part["enum"] : [];
    return choices.length === 1 ? `${name} = ${JSON.stringify(choices[0])}` : name;
  });
  return described.join(" and ");
}

/** A value of a foreign schema as text; what is no text as JSON. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
