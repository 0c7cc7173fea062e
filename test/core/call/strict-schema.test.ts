import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { MutableJson } from "../../../src/core/contract/schema.ts";
import { toSchema } from "../../../src/core/contract/schema.ts";
import { shownSchema } from "../../../src/core/call/shown-schema.ts";
import { strictSchema } from "../../../src/core/call/strict-schema.ts";
import { definitions } from "../../../src/core/call/definitions.ts";
import { toolset } from "../../../src/core/call/toolset.ts";
import { validate } from "../../../src/core/call/validate.ts";
import { PRESETS } from "../../../src/tools/presets/presets.ts";

const tools = toolset(PRESETS.all());

/** What OpenAI's strict mode accepts, besides limits of values, which this form leaves out. */
const KEYWORDS = /^(type|title|description|enum|anyOf|items|\$ref|\$defs|properties|required|additionalProperties)$/;

function faults(schema: MutableJson, at = ""): string[] {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return [`${at}: not a schema`];
  const { properties = {}, required, additionalProperties, items, anyOf = [], type } = schema;
  const named = Object.entries(properties as { [name: string]: MutableJson });
  const isObject = type === "object" || (Array.isArray(type) && type.includes("object"));
  return [
    ...Object.keys(schema).flatMap((keyword) => (KEYWORDS.test(keyword) ? [] : [`${at}: ${keyword}`])),
    ...(isObject && additionalProperties !== false ? [`${at}: open`] : []),
    ...(isObject && JSON.stringify(required) !== JSON.stringify(named.map(([name]) => name))
      ? [`${at}: optional`]
      : []),
    ...named.flatMap(([name, part]) => faults(part, `${at}.${name}`)),
    ...(items === undefined ? [] : faults(items, `${at}[]`)),
    ...(anyOf as MutableJson[]).flatMap((part) => faults(part, `${at}|`)),
  ];
}

test("all tools are strict except those that take any keys, and keep their names and order in every format", () => {
  const strict = definitions(tools, "openai-responses", { strict: true }) ?? [];
  expect(strict.map(({ name }) => name)).toEqual([...tools.keys()]);
  expect(strict.filter((each) => !each.strict).map(({ name }) => name)).toEqual(["http_request"]);
  for (const { name, parameters, strict: isStrict } of strict)
    if (isStrict) expect(faults(parameters as MutableJson, name)).toEqual([]);
  const chat = definitions(tools, "openai", { strict: true }) ?? [];
  for (const [index, { parameters, strict: isStrict }] of strict.entries()) {
    expect(chat[index]?.function).toMatchObject({ parameters, ...(isStrict && { strict: true }) });
  }
});

test("null for every optional argument of every tool is the same as none", async () => {
  for (const [name, tool] of tools) {
    const { properties, required = [] } = shownSchema(tool.input.json);
    const given = Object.fromEntries(required.map((each) => [each, sample(properties[each])]));
    const nulls = Object.fromEntries(Object.keys(properties).map((each) => [each, given[each] ?? null]));
    const plain = await validate(tool, given);
    expect(await validate(tool, nulls), name).toEqual(plain);
    expect(plain.ok, name).toBe(true);
  }
});

/** A value that a property takes. */
function sample(property: MutableJson | undefined): MutableJson {
  const { type, enum: choices, anyOf, properties = {}, required = [] } = property as { [keyword: string]: MutableJson };
  if (Array.isArray(choices)) return choices[0] ?? null;
  if (Array.isArray(anyOf)) return sample(anyOf[0]);
  if (type === "array") return [];
  if (type === "number" || type === "integer") return 1;
  if (type === "boolean") return true;
  if (type !== "object") return "x";
  const parts = properties as { [name: string]: MutableJson };
  return Object.fromEntries((required as string[]).map((each) => [each, sample(parts[each])]));
}

describe("schemas of others", () => {
  const nested = z.object({ deep: z.object({ list: z.array(z.object({ unit: z.enum(["a", "b"]).optional() })) }) });
  test.each([
    ["of zod, nested", nested, { deep: { list: [{ unit: null }] } }, { deep: { list: [{}] } }],
    [
      "whose optional property may be null keep it",
      Type.Object({ end: Type.Optional(Type.Union([Type.Number(), Type.Null()])), from: Type.Optional(Type.Number()) }),
      { end: null, from: null },
      { end: null },
    ],
  ])("%s", async (_, source, input, expected) => {
    const schema = toSchema(source);
    expect(faults((strictSchema(shownSchema(schema.json)) ?? {}) as MutableJson)).toEqual([]);
    expect(await validate({ input: schema }, input)).toEqual({ ok: true, input: expected });
  });

  test.each([
    ["any keys", { type: "object", properties: { map: { type: "object", additionalProperties: true } } }],
    ["any value", { type: "object", properties: { value: {} } }],
    ["conditions", { type: "object", properties: { a: { type: "string" } }, if: {}, else: {} }],
    ["tuples", { type: "object", properties: { pair: { type: "array", prefixItems: [{ type: "string" }] } } }],
  ])("with %s have no strict form", (_, schema) => {
    expect(strictSchema(shownSchema(schema))).toBeUndefined();
  });
});
