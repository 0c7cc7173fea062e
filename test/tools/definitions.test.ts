import { specTypeSchemas } from "@modelcontextprotocol/server";
import { Type } from "typebox";
import { Compile } from "typebox/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "../../src/contract/schema.ts";
import { type Tool, defineTool } from "../../src/contract/tool.ts";
import type { DefinitionFormat } from "../../src/contract/toolkit.ts";
import { definitions, toolset } from "../../src/engine/toolset.ts";
import { chosenTools } from "../../src/tools/presets/choose.ts";
import { PRESETS } from "../../src/tools/presets/presets.ts";
import { read } from "../../src/tools/read.ts";

const FORMATS: readonly DefinitionFormat[] = ["json", "openai", "anthropic", "mcp"];

/** What OpenAI and Anthropic both take: https://platform.openai.com/docs/api-reference/chat/create, https://docs.anthropic.com/en/api/messages */
const PROVIDER_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const bare = { description: "For a test.", touches: [], effects: () => [], run: async () => null } as const;

/** Schemas as authors bring them: TypeBox, a literal without a type, zod. */
const brought: readonly Tool[] = [
  defineTool({ ...bare, name: "typebox", input: Type.Object({ city: Type.String() }) }),
  defineTool({ ...bare, name: "plain", input: { properties: { city: { type: "string" } }, required: ["city"] } }),
  defineTool({ ...bare, name: "zod", input: z.object({ city: z.string(), days: z.number().default(3) }) }),
  defineTool({ ...bare, name: "nothing", input: {} }),
];

const everyTool = toolset([...PRESETS.all(), ...brought]);

describe("the definitions of every tool", () => {
  test.for(FORMATS)("are JSON in the %s format: what is sent is what is there", (format) => {
    const made = definitions(everyTool, format);
    expect(made).toHaveLength(everyTool.size);
    expect(JSON.parse(JSON.stringify(made))).toEqual(made);
  });

  test("have names that every provider takes, and a description", () => {
    for (const { function: made, type } of definitions(everyTool, "openai") ?? []) {
      expect(type).toBe("function");
      expect(made.name).toMatch(PROVIDER_NAME);
      expect(made.description).not.toBe("");
    }
    for (const made of definitions(everyTool, "anthropic") ?? []) {
      expect(made.name).toMatch(PROVIDER_NAME);
      expect(Object.keys(made)).toEqual(["name", "description", "input_schema"]);
    }
  });

  test("have the same schema in every format: of an object, one that compiles, its required names among its properties", () => {
    const schemas = {
      json: definitions(everyTool, "json")?.map(({ parameters }) => parameters),
      openai: definitions(everyTool, "openai")?.map(({ function: made }) => made.parameters),
      anthropic: definitions(everyTool, "anthropic")?.map(({ input_schema }) => input_schema),
      mcp: definitions(everyTool, "mcp")?.map(({ inputSchema }) => inputSchema),
    };
    for (const format of FORMATS) expect(schemas[format]).toEqual(schemas.json);
    for (const schema of schemas.json ?? []) expectObjectSchema(schema);
  });

  test("are tools to an MCP client", () => {
    const { validate } = specTypeSchemas.Tool["~standard"];
    for (const made of definitions(everyTool, "mcp") ?? []) expect(validate(made)).toEqual({ value: made });
  });

  test("say to an MCP client which tools only look and which reach out", () => {
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

test("the tools of seed 000 have its arguments, and say to a client which of them act", () => {
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
      paramsHint: "city (required)",
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

test("of an empty set there are none, which is not an empty list: providers refuse that", () => {
  for (const format of FORMATS) expect(definitions(toolset([]), format)).toBeUndefined();
});

test("a tool can go by another name, description and limit", () => {
  const [made] = definitions(toolset([read({ name: "read_file", description: "Reads." })]), "anthropic") ?? [];
  expect(made).toMatchObject({ name: "read_file", description: "Reads." });
  const [limited] = definitions(toolset([read({ limit: { lines: 10, bytes: 1_024 } })]), "anthropic") ?? [];
  expect(limited?.description).toContain("up to 10 lines or 1KB");
});

test("a name that a provider would refuse is refused at once", () => {
  for (const name of ["", "1st", "_x", "has space", "dotted.name", "x".repeat(65), "näme"]) {
    expect(() => defineTool({ ...bare, name, input: {} })).toThrow(
      new TypeError(`tool name ${JSON.stringify(name)}: expected a letter, then up to 63 letters, digits, "_" or "-"`),
    );
  }
});

test("two tools of one name are refused", () => {
  expect(() => toolset([read(), read()])).toThrow(new TypeError('two tools are named "read"; give one another name'));
});

function expectObjectSchema(schema: JsonSchema): void {
  expect(schema["type"]).toBe("object");
  Compile(schema);
  const properties = Object.keys(schema["properties"] ?? {});
  for (const name of (schema["required"] ?? []) as readonly string[]) expect(properties).toContain(name);
}
