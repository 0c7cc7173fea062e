import { specTypeSchemas } from "@modelcontextprotocol/server";
import { Type } from "typebox";
import { Compile } from "typebox/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema, ParametersSchema } from "../../src/core/contract/schema.ts";
import { type Tool, defineTool } from "../../src/core/contract/tool.ts";
import type { DefinitionFormat, Toolset } from "../../src/core/contract/toolkit.ts";
import { requireValidSchemas } from "../../src/core/call/schema-fault.ts";
import { definitions } from "../../src/core/call/definitions.ts";
import { toolset } from "../../src/core/call/toolset.ts";
import { chosenTools } from "../../src/tools/presets/choose.ts";
import { PRESETS } from "../../src/tools/presets/presets.ts";
import { read } from "../../src/tools/read.ts";

/** The schema in a definition of each format. */
const SCHEMAS_IN: { readonly [F in DefinitionFormat]: (tools: Toolset) => ParametersSchema[] | undefined } = {
  json: (tools) => definitions(tools, "json")?.map(({ parameters }) => parameters),
  openai: (tools) => definitions(tools, "openai")?.map(({ function: made }) => made.parameters),
  "openai-responses": (tools) => definitions(tools, "openai-responses")?.map(({ parameters }) => parameters),
  anthropic: (tools) => definitions(tools, "anthropic")?.map(({ input_schema }) => input_schema),
  gemini: (tools) => definitions(tools, "gemini")?.map(({ parametersJsonSchema }) => parametersJsonSchema),
  mcp: (tools) => definitions(tools, "mcp")?.map(({ inputSchema }) => inputSchema),
};
const FORMATS = Object.keys(SCHEMAS_IN) as readonly DefinitionFormat[];

/** The rules of OpenAI, Anthropic, Gemini and MCP for tool names. See `TOOL_NAME` for their sources. */
const PROVIDER_NAMES = [
  /^[a-zA-Z0-9_-]{1,64}$/,
  /^[a-zA-Z0-9_-]{1,128}$/,
  /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
  /^[a-zA-Z0-9_.-]{1,128}$/,
];

const bare = { description: "For a test.", touches: [], effects: () => [], run: async () => null } as const;

/** Schemas as authors write them: TypeBox, a literal without a type, zod. */
const brought: readonly Tool[] = [
  defineTool({ ...bare, name: "typebox", input: Type.Object({ city: Type.String() }) }),
  defineTool({ ...bare, name: "plain", input: { properties: { city: { type: "string" } }, required: ["city"] } }),
  defineTool({ ...bare, name: "zod", input: z.object({ city: z.string(), days: z.number().default(3) }) }),
  defineTool({ ...bare, name: "nothing", input: {} }),
];

const everyTool = toolset([...PRESETS.all(), ...brought]);

describe("the definitions of every tool", () => {
  test.for(FORMATS)("are valid JSON in the %s format", (format) => {
    const made = definitions(everyTool, format);
    expect(made).toHaveLength(everyTool.size);
    expect(JSON.parse(JSON.stringify(made))).toEqual(made);
  });

  test("have names that every provider accepts, and a description", () => {
    for (const { name, description } of definitions(everyTool, "json") ?? []) {
      for (const rule of PROVIDER_NAMES) expect(name).toMatch(rule);
      expect(description).not.toBe("");
    }
  });

  test("have the same schema in every format: an object that compiles, with its required names as properties", () => {
    const schemas = SCHEMAS_IN.json(everyTool) ?? [];
    for (const format of FORMATS) {
      // Gemini takes no `patternProperties`.
      const others = toolset(
        [...everyTool.values()].filter(({ name }) => format !== "gemini" || name !== "http_request"),
      );
      expect(withoutEmpty(SCHEMAS_IN[format](others))).toEqual(withoutEmpty(SCHEMAS_IN.json(others)));
    }
    for (const schema of schemas) expectObjectSchema(schema);
    requireValidSchemas(everyTool.values()); // createToolkit checks only tools that are passed in
  });

  test("have only schema keywords that Gemini accepts", () => {
    const text = JSON.stringify(SCHEMAS_IN.gemini(everyTool));
    expect(text).not.toContain('"const":');
    expect(text).not.toMatch(/"enum":\[[^\]]*""/);
  });

  test("are tools to an MCP client", () => {
    const { validate } = specTypeSchemas.Tool["~standard"];
    for (const made of definitions(everyTool, "mcp") ?? []) expect(validate(made)).toEqual({ value: made });
  });

  test("say to an MCP client which tools only read and which are open-world", () => {
    const hints = Object.fromEntries(
      (definitions(toolset(PRESETS.all()), "mcp") ?? []).map((made) => [made.name, made.annotations]),
    );
    expect(hints).toMatchObject({
      read: { readOnlyHint: true, openWorldHint: false },
      ls: { readOnlyHint: true, openWorldHint: false },
      time: { readOnlyHint: true, openWorldHint: false },
      write: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
      edit: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
      bash: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
    });
  });
});

test("every argument of a built-in tool is described", () => {
  const all = [...PRESETS.all(), ...PRESETS.operator().filter(({ name }) => /^(read|write)_file$/.test(name))];
  for (const { name, parameters } of definitions(toolset(all), "json") ?? []) {
    const properties = parameters["properties"] as { readonly [name: string]: { readonly description?: string } };
    for (const [argument, { description }] of Object.entries(properties)) {
      expect(description, `${name}.${argument}`).toMatch(/\w/);
    }
  }
});

test("the tools of the preset operator have their arguments, and say to a client which of them act", () => {
  const made = definitions(toolset(chosenTools({ preset: "operator" }, { terminal: true })), "mcp") ?? [];
  const shapes = made.map(({ name, inputSchema, annotations }) => ({
    name,
    arguments: Object.keys(inputSchema["properties"] ?? {}),
    required: inputSchema["required"] ?? [],
    looks: annotations.readOnlyHint,
  }));
  expect(shapes).toEqual([
    { name: "run_shell", arguments: ["command", "wait"], required: ["command"], looks: false },
    { name: "read_file", arguments: ["path"], required: ["path"], looks: true },
    { name: "write_file", arguments: ["path", "content"], required: ["path", "content"], looks: false },
    { name: "fetch_url", arguments: ["url"], required: ["url"], looks: true },
    { name: "web_search", arguments: ["query", "max_results"], required: ["query"], looks: true },
    {
      name: "capture-pane",
      arguments: [
        "target",
        "start",
        "end",
        "join_wrapped_lines",
        "preserve_trailing_spaces",
        "include_escape_sequences",
        "escape_non_printable",
        "include_alternate_screen",
        "delay",
        "delay_ms",
      ],
      required: [],
      looks: false,
    },
    {
      name: "send-keys",
      arguments: ["target", "keys", "literal_text", "enter", "delay", "delay_ms"],
      required: [],
      looks: false,
    },
    { name: "time", arguments: ["format"], required: [], looks: true },
  ]);
});

test("one definition in each format, in full", () => {
  const weather = toolset([
    defineTool({
      ...bare,
      name: "get_weather",
      title: "Weather",
      description: "The weather in a city.",
      input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    }),
  ]);
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const name = "get_weather";
  const description = "The weather in a city.";
  expect(definitions(weather, "json")).toEqual([
    { name, title: "Weather", description, params_hint: "city (required)", parameters: schema },
  ]);
  expect(definitions(weather, "openai")).toEqual([
    { type: "function", function: { name, description, parameters: schema } },
  ]);
  expect(definitions(weather, "openai-responses")).toEqual([
    { type: "function", name, description, parameters: schema, strict: false },
  ]);
  expect(definitions(weather, "gemini")).toEqual([{ name, description, parametersJsonSchema: schema }]);
  expect(definitions(weather, "anthropic")).toEqual([{ name, description, input_schema: schema }]);
  expect(definitions(weather, "mcp")).toEqual([
    {
      name,
      title: "Weather",
      description,
      inputSchema: schema,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
  ]);
});

describe("the schema in a definition", () => {
  const choice = (values: readonly string[]) => ({ type: "string", enum: values });

  test.each<[string, object, object]>([
    ["a TypeBox union of literals", Type.Union([Type.Literal("a"), Type.Literal("b")]), choice(["a", "b"])],
    [
      "the same with a description",
      Type.Union([Type.Literal("a")], { description: "One." }),
      { description: "One.", ...choice(["a"]) },
    ],
    ["a TypeBox enum, which has no type", Type.Enum(["a", "b"]), choice(["a", "b"])],
    ["a single literal", Type.Literal("a"), choice(["a"])],
    [
      "literals of two types",
      Type.Union([Type.Literal("a"), Type.Literal(1), Type.Literal("b")]),
      { anyOf: [choice(["a", "b"]), { type: "number", enum: [1] }] },
    ],
    [
      "literals beside another type",
      Type.Union([Type.Literal("a"), Type.Null(), Type.Literal("b")]),
      { anyOf: [choice(["a", "b"]), { type: "null" }] },
    ],
    [
      "literals that are described one by one",
      Type.Union([Type.Literal("a", { title: "A" }), Type.Literal("b")]),
      { anyOf: [{ title: "A", ...choice(["a"]) }, choice(["b"])] },
    ],
    [
      "unions inside other schemas",
      Type.Array(Type.Union([Type.Literal("a"), Type.Literal("b")])),
      { type: "array", items: choice(["a", "b"]) },
    ],
    [
      "values that only look like schemas",
      { default: { const: 1 }, enum: [{ const: 1 }] },
      { type: "object", default: { const: 1 }, enum: [{ const: 1 }] },
    ],
    [
      "properties with the names of keywords",
      { properties: { const: { type: "string" }, anyOf: {} } },
      { properties: { const: { type: "string" }, anyOf: {} } },
    ],
    ["an array of anything", { type: "array" }, { type: "array", items: {} }],
    ["a pattern that is a RegExp", Type.String({ pattern: /^a/ }), { type: "string", pattern: "^a" }],
  ])("of %s", (_, argument, expected) => {
    const [schema] = SCHEMAS_IN.json(taking({ properties: { it: argument } })) ?? [];
    expect(schema).toEqual({ type: "object", properties: { it: expected } });
  });

  test("for Gemini has no empty string in a choice", () => {
    const tools = taking(Type.Object({ it: Type.Enum(["a", ""]), other: Type.Literal("") }));
    expect(SCHEMAS_IN.gemini(tools)?.[0]?.properties).toEqual({ it: choice(["a"]), other: { type: "string" } });
    expect(SCHEMAS_IN.openai(tools)?.[0]?.properties).toEqual({ it: choice(["a", ""]), other: choice([""]) });
  });

  test("is a copy: changing it changes no tool and no other definition", () => {
    const tools = taking(Type.Object({ it: Type.String() }));
    for (const format of FORMATS) {
      const [schema] = SCHEMAS_IN[format](tools) ?? [];
      schema?.required?.push("other");
      Object.assign(schema?.properties ?? {}, { other: { type: "string" } });
      expect(SCHEMAS_IN[format](tools)?.[0], format).toEqual({
        type: "object",
        properties: { it: { type: "string" } },
        required: ["it"],
      });
    }
  });

  function taking(input: object): Toolset {
    return toolset([defineTool({ ...bare, name: "taking", input })]);
  }
});

test("of an empty set are undefined, since providers refuse an empty list", () => {
  for (const format of FORMATS) expect(definitions(toolset([]), format)).toBeUndefined();
});

test("a tool can have another name, description and limit", () => {
  const [made] = definitions(toolset([read({ name: "read_file", description: "Reads." })]), "anthropic") ?? [];
  expect(made).toMatchObject({ name: "read_file", description: "Reads." });
  const [limited] = definitions(toolset([read({ limit: { lines: 10, bytes: 1_024 } })]), "anthropic") ?? [];
  expect(limited?.description).toContain("up to 10 lines or 1KB");
});

test("a name that a provider would refuse is refused at once", () => {
  for (const name of ["", "1st", "-x", "has space", "dotted.name", "a:b", "x\n", "x".repeat(65), "näme"]) {
    expect(PROVIDER_NAMES.every((rule) => rule.test(name))).toBe(false);
    expect(() => defineTool({ ...bare, name, input: {} })).toThrow(
      new TypeError(
        `tool name ${JSON.stringify(name)}: expected a letter or "_", then up to 63 letters, digits, "_" or "-"`,
      ),
    );
  }
  for (const name of ["_x", "_", "a-B_9", "x".repeat(64)]) {
    expect(PROVIDER_NAMES.every((rule) => rule.test(name))).toBe(true);
    expect(defineTool({ ...bare, name, input: {} }).name).toBe(name);
  }
});

test("two tools with the same name are refused", () => {
  expect(() => toolset([read(), read()])).toThrow(new TypeError('two tools are named "read"; rename one of them'));
});

/** Gemini's schemas have no empty strings in choices. */
function withoutEmpty(schemas: readonly ParametersSchema[] | undefined): unknown {
  const text = JSON.stringify(schemas);
  return JSON.parse(text, (key, value: unknown) =>
    key === "enum" && Array.isArray(value) ? value.filter(Boolean) : value,
  );
}

function expectObjectSchema(schema: JsonSchema): void {
  expect(schema["type"]).toBe("object");
  Compile(schema);
  const properties = Object.keys(schema["properties"] ?? {});
  for (const name of (schema["required"] ?? []) as readonly string[]) expect(properties).toContain(name);
}
