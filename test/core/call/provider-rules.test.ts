import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonSchema, MutableJson } from "../../../src/core/contract/schema.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import type { DefinitionFormat } from "../../../src/core/contract/toolkit.ts";
import { definitions } from "../../../src/core/call/definitions.ts";
import { PROPERTY_NAME, fittedNames } from "../../../src/core/call/property-names.ts";
import { PROVIDER_RULES } from "../../../src/core/call/provider-rules.ts";
import { requireValidSchemas } from "../../../src/core/call/schema-fault.ts";
import { SUBSCHEMAS } from "../../../src/core/call/subschemas.ts";
import { toolset } from "../../../src/core/call/toolset.ts";
import { validate } from "../../../src/core/call/validate.ts";
import { PRESETS } from "../../../src/tools/presets/presets.ts";
import { cases } from "../../support/cases.ts";

type Plain = { [keyword: string]: MutableJson };

const SCHEMA_IN: { readonly [F in DefinitionFormat]: (definition: never) => MutableJson } = {
  json: ({ parameters }: { parameters: MutableJson }) => parameters,
  openai: ({ function: { parameters } }: { function: { parameters: MutableJson } }) => parameters,
  "openai-responses": ({ parameters }: { parameters: MutableJson }) => parameters,
  anthropic: ({ input_schema }: { input_schema: MutableJson }) => input_schema,
  gemini: ({ parametersJsonSchema }: { parametersJsonSchema: MutableJson }) => parametersJsonSchema,
  mcp: ({ inputSchema }: { inputSchema: MutableJson }) => inputSchema,
};
const FORMATS = Object.keys(SCHEMA_IN) as readonly DefinitionFormat[];

function toolOf(input: object, name = "t"): Tool {
  return defineTool({ name, description: "For a test.", input, touches: [], effects: () => [], run: async () => null });
}

/** The schema of a tool in a format; `undefined` if it is left out. */
function schemaIn(format: DefinitionFormat, input: object): Plain | undefined {
  const [definition] = definitions(toolset([toolOf(input)]), format) ?? [];
  return definition && (SCHEMA_IN[format](definition as never) as Plain);
}

/** What a receiver would refuse in a schema. */
function faults(format: DefinitionFormat, schema: MutableJson, at = ""): readonly string[] {
  const { notAtTop, nowhere, inlines, closed, textChoices, formats } = PROVIDER_RULES[format];
  if (!isPlain(schema)) return /(additional|unevaluated)\w+$/.test(at) ? [] : [`${at}: not an object`];
  const { type, properties, required, items, enum: choices, $ref } = schema;
  const own = isPlain(properties) ? properties : {};
  const say = (wrong: boolean, what: string) => (wrong ? [`${at}: ${what}`] : []);
  return [
    ...Object.keys(schema).flatMap((keyword) => say(nowhere.has(keyword), keyword)),
    ...say(at === "" && (type !== "object" || !isPlain(properties)), "no object at the top"),
    ...(at === "" ? Object.keys(schema).flatMap((keyword) => say(notAtTop.has(keyword), `${keyword} at the top`)) : []),
    ...Object.keys(own).flatMap((name) => say(!PROPERTY_NAME.test(name), `the name ${name}`)),
    ...say(type === "array" && !isPlain(items), "no items"),
    ...say($ref !== undefined && inlines, "$ref"),
    ...say(
      typeof $ref === "string" && !/^#\/(\$defs|definitions)\//.test($ref),
      `the reference ${JSON.stringify($ref)}`,
    ),
    ...say(
      closed && Array.isArray(required) && !required.every((name) => Object.hasOwn(own, name as string)),
      "required",
    ),
    ...say(closed && isPlain(properties) && ("anyOf" in schema || "oneOf" in schema), "a union beside properties"),
    ...say(textChoices && Array.isArray(choices) && !choices.every((each) => typeof each === "string" && each), "enum"),
    ...say(formats !== undefined && "format" in schema && !formats.has(schema["format"] as string), "format"),
    ...Object.entries(schema).flatMap(([keyword, value]) => {
      const holds = SUBSCHEMAS.get(keyword);
      if (holds === undefined || value === null || typeof value !== "object") return [];
      const parts = holds === "named" || Array.isArray(value) ? Object.entries(value) : [["", value] as const];
      return parts.flatMap(([name, part]) => faults(format, part, `${at}/${keyword}/${name}`));
    }),
  ];
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a toolkit takes a schema at all. */
function isTaken(input: object): boolean {
  try {
    requireValidSchemas([toolOf(input)]);
    return true;
  } catch {
    return false;
  }
}

let ofSuite: readonly object[] | undefined;

/** The schemas of the JSON Schema test suite, each as arguments and as one argument. */
function suiteSchemas(): readonly object[] {
  if (ofSuite !== undefined) return ofSuite;
  const suite = fileURLToPath(new URL("../../../../shared/vectors/json-schema/", import.meta.url));
  if (!existsSync(suite)) return (ofSuite = []);
  const files = ["draft2020-12", "draft7"].flatMap((draft) =>
    readdirSync(join(suite, draft)).map((name) => join(suite, draft, name)),
  );
  ofSuite = files
    .filter((file) => statSync(file).isFile())
    .flatMap((file) => JSON.parse(readFileSync(file, "utf8")) as { schema: object }[])
    .flatMap(({ schema }) => [schema, { properties: { it: schema } }])
    .filter((schema) => typeof schema === "object" && isTaken(schema));
  return ofSuite;
}

/** The four largest forms of tools of MCP servers from npm, by server and version, without their texts. */
const REAL = JSON.parse(readFileSync(new URL("../../fixtures/mcp/real-schemas.json", import.meta.url), "utf8")) as {
  readonly [server: string]: readonly object[];
};

const NAMES = [
  "id",
  "$filter",
  "filter[id]",
  "StartTime<",
  "StartTime>",
  "has space",
  "a.b",
  "",
  "x".repeat(80),
  "filter",
];

const NODE = { type: "object", properties: { next: { $ref: "#/$defs/Node" } } };

/** Schemas of one level more, as no author writes them: every keyword beside every other. */
function randomSchema(levels: number): fc.Arbitrary<JsonSchema> {
  const plain = {
    type: fc.constantFrom("object", "string", "array", "integer", ["string", "null"]),
    required: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }),
    enum: fc.uniqueArray(fc.constantFrom<unknown>("a", "", 1, true, null), { minLength: 1 }),
    const: fc.constantFrom<unknown>("x", 3),
    format: fc.constantFrom("uri", "date-time", "int32"),
    $ref: fc.constantFrom("#/$defs/A", "#/$defs/Node"),
    description: fc.constantFrom("A text.", "half \ud83d"),
  };
  if (levels === 0) return fc.record(plain, { requiredKeys: [], noNullPrototype: true });
  const inner = randomSchema(levels - 1);
  const some = fc.array(inner, { minLength: 1, maxLength: 2 });
  const deep = {
    properties: fc.dictionary(fc.constantFrom(...NAMES), inner, { maxKeys: 3 }),
    ...{ items: fc.oneof(inner, some, fc.boolean()), prefixItems: some, not: inner, if: inner },
    ...{ anyOf: some, oneOf: some, allOf: some, additionalProperties: fc.boolean() },
  };
  return fc.record({ ...plain, ...deep }, { requiredKeys: [], noNullPrototype: true });
}

describe.each(FORMATS)("the format %s", (format) => {
  /** What is wrong with how a schema of arguments is defined in the format. */
  const wrongWith = (input: object): readonly string[] => {
    const schema = schemaIn(format, input);
    const half = /\\ud[89a-f]/.test(JSON.stringify(schema ?? {})) ? ["half a surrogate pair"] : [];
    const found = schema === undefined ? ["left out"] : [...faults(format, schema), ...half];
    const large = JSON.stringify(schema ?? {}).length > 400_000 ? ["too large"] : [];
    return [...found, ...large].slice(0, 3).map((fault) => `${fault} in a definition of ${JSON.stringify(input)}`);
  };

  test("has no schema of the JSON Schema test suite that its receiver refuses", () => {
    expect(suiteSchemas().flatMap(wrongWith)).toEqual([]);
  });

  test("has no schema of real MCP servers that its receiver refuses", () => {
    expect(Object.values(REAL).flat().flatMap(wrongWith)).toEqual([]);
  });

  test("has no schema of our own tools that its receiver refuses", () => {
    expect(PRESETS.all().flatMap(({ input }) => wrongWith(input.json))).toEqual([]);
  });

  test("has no random schema that its receiver refuses", () => {
    fc.assert(
      fc.property(randomSchema(1), ({ type: _, ...random }) => {
        const schema = { ...random, $defs: { A: { type: "string" }, Node: NODE } };
        fc.pre(isTaken(schema));
        expect(wrongWith(schema)).toEqual([]);
      }),
      { numRuns: cases(100) },
    );
  });
});

describe("a rule at the top is said in words", () => {
  const S = { type: "object", properties: { id: { type: "string" }, name: { type: "string" } } } as const;
  test.each<[string, object, RegExp, string[]?]>([
    ["anyOf", { ...S, anyOf: [{ required: ["id"] }, { required: ["name"] }] }, /at least one of these: id or name\.$/],
    ["oneOf", { ...S, oneOf: [{ required: ["id"] }, { required: ["name"] }] }, /exactly one of these: id or name\.$/],
    ["not", { ...S, not: { required: ["x"] } }, /must also fit \{"not":\{"required":\["x"\]\}\}\.$/],
    [
      "a union of kinds",
      {
        anyOf: [
          { type: "object", properties: { kind: { const: "a" }, n: { type: "number" } }, required: ["kind", "n"] },
          { type: "object", properties: { kind: { const: "b" }, s: { type: "string" } }, required: ["kind", "s"] },
        ],
      },
      /these: kind = "a" and n or kind = "b" and s\.$/,
      ["kind", "n", "s"],
    ],
    [
      "a union of references",
      { anyOf: [{ $ref: "#/$defs/A" }], $defs: { A: { type: "object", properties: { a: {} }, required: ["a"] } } },
      /these: a\.$/,
      ["a"],
    ],
  ])("%s", (_, input, words, names = ["id", "name"]) => {
    const [definition] = definitions(toolset([toolOf(input)]), "anthropic") ?? [];
    const { description, input_schema: schema } = definition as never as {
      readonly description: string;
      readonly input_schema: { readonly properties: object };
    };
    expect(description).toMatch(words);
    expect(Object.keys(schema.properties)).toEqual(names);
  });
});

describe("names that providers refuse", () => {
  const inner = { type: "object", properties: { "filter[id]": { type: "string" } }, required: ["filter[id]"] };
  const input = { type: "object", properties: { $filter: { type: "string" }, list: { type: "array", items: inner } } };

  test("are others for them, and the tool gets its own back at any depth", async () => {
    expect(Object.keys(schemaIn("anthropic", input)?.["properties"] as Plain)).toEqual(["filter", "list"]);
    const given = { filter: "a", list: [{ filter_id: "b" }] };
    expect(await validate(toolOf(input), given)).toEqual({
      ok: true,
      input: { $filter: "a", list: [{ "filter[id]": "b" }] },
    });
    const own = { $filter: "a", list: [{ "filter[id]": "b" }], filter: "kept" };
    expect(await validate(toolOf(input), own)).toEqual({ ok: true, input: own });
  });

  test("stay apart from each other", () => {
    const names = Object.fromEntries(NAMES.map((name) => [name, {}]));
    const fitted = [...fittedNames(names).values()];
    expect(new Set(fitted).size).toBe(NAMES.length);
    for (const name of fitted) expect(name).toMatch(PROPERTY_NAME);
  });
});

test("a schema within itself is written without references, to some depth", () => {
  const node = { type: "object", properties: { next: { $ref: "#/$defs/Node" } } };
  const text = JSON.stringify(schemaIn("gemini", { ...node, $defs: { Node: node } }));
  expect(text).toContain("Any value: #/$defs/Node");
  expect(text.length).toBeLessThan(1_000);
});

test("one tool that cannot be defined is left out, and reported", () => {
  const broken = toolOf({}, "broken");
  Object.defineProperty(broken.input, "json", { get: () => ({ n: 1n }) });
  const left: string[] = [];
  const made = definitions(toolset([broken, toolOf({}, "fine")]), "openai", {}, (name, why) =>
    left.push(`${name}: ${why}`),
  );
  expect(made?.map(({ function: { name } }) => name)).toEqual(["fine"]);
  expect(left).toEqual([expect.stringMatching(/^broken: its schema cannot be written for the format openai: /)]);
});

test("a request has at most as many tools as the provider takes", () => {
  const many = toolset(Array.from({ length: 200 }, (_, index) => toolOf({}, `t${index}`)));
  const left: string[] = [];
  expect(definitions(many, "openai", {}, (name) => left.push(name))).toHaveLength(128);
  expect(left).toHaveLength(72);
  expect(definitions(many, "anthropic")).toHaveLength(200);
});

test("Anthropic's strict mode is used for as many tools and unions as a request may have", () => {
  const properties = { a: { type: "string" }, b: { type: "string" } };
  const many = toolset(Array.from({ length: 30 }, (_, index) => toolOf({ type: "object", properties }, `t${index}`)));
  const strict = (format: "anthropic" | "openai-responses") =>
    (definitions(many, format, { strict: true }) ?? []).filter((definition) => definition.strict === true).length;
  expect(strict("anthropic")).toBe(8); // two optional parameters each, 16 unions
  expect(strict("openai-responses")).toBe(30);
});
