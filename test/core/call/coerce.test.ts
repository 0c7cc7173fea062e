import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { JsonSchema } from "../../../src/core/contract/schema.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { validate } from "../../../src/core/call/validate.ts";

function taking(input: JsonSchema | object): Tool {
  return defineTool({
    name: "taking",
    description: "Takes it.",
    touches: [],
    input,
    effects: () => [],
    run: async () => null,
  });
}

/** A tool that takes one optional value of a schema. */
const taking1 = (schema: object) => taking({ type: "object", properties: { x: schema } });

const NUMBER = { type: "number" };
const INTEGER = { type: "integer" };
const STRING = { type: "string" };
const BOOLEAN = { type: "boolean" };
const NUMBERS = { type: "array", items: NUMBER };
const STRINGS = { type: "array", items: STRING };
const OBJECT = { type: "object", properties: { a: NUMBER }, additionalProperties: false };

describe("a value of the wrong type with one evident reading", () => {
  test.each<[object, unknown, unknown]>([
    [NUMBER, "5", 5],
    [NUMBER, " -2.5e3 ", -2500],
    [NUMBER, ".5", 0.5],
    [NUMBER, "5.", 5],
    [NUMBER, true, 1],
    [INTEGER, "7", 7],
    [INTEGER, "7.0", 7],
    [INTEGER, "+7", 7],
    [BOOLEAN, "true", true],
    [BOOLEAN, " FALSE ", false],
    [BOOLEAN, 1, true],
    [BOOLEAN, 0, false],
    [STRING, 5, "5"],
    [STRING, -0.5, "-0.5"],
    [STRING, false, "false"],
    [NUMBERS, "[1, 2]", [1, 2]],
    [NUMBERS, 5, [5]],
    [STRINGS, "one", ["one"]],
    [STRINGS, '["one","two"]', ["one", "two"]],
    [STRINGS, "[not json", ["[not json"]],
    [OBJECT, '{"a": 1}', { a: 1 }],
    [{ type: ["number", "null"] }, "5", 5],
    [{ anyOf: [NUMBER, BOOLEAN] }, "true", true],
    [{ anyOf: [NUMBER, BOOLEAN] }, "5", 5],
  ])("%j takes %j as %j", async (schema, given, read) => {
    expect(await validate(taking1(schema), { x: given })).toEqual({ ok: true, input: { x: read } });
  });

  test.each<[object, unknown]>([
    [NUMBER, "five"],
    [NUMBER, ""],
    [NUMBER, " "],
    [NUMBER, "0x10"],
    [NUMBER, "1,5"],
    [NUMBER, "Infinity"],
    [NUMBER, "1e999"],
    [NUMBER, "NaN"],
    [NUMBER, [5]],
    [NUMBER, {}],
    [INTEGER, "7.5"],
    [BOOLEAN, "yes"],
    [BOOLEAN, "1"],
    [BOOLEAN, 2],
    [STRING, {}],
    [STRING, ["a"]],
    [NUMBERS, "five"],
    [NUMBERS, "[1, two]"],
    [OBJECT, "[1]"],
    [OBJECT, "{broken"],
    [OBJECT, "text"],
    [OBJECT, '{"b": 1}'],
    [{ ...NUMBER, maximum: 3 }, "5"],
    [{ ...STRING, minLength: 3 }, 5],
  ])("%j does not take %j", async (schema, given) => {
    expect(await validate(taking1(schema), { x: given })).toMatchObject({ ok: false });
  });

  test("a value that fits is not changed", async () => {
    const either = taking1({ anyOf: [STRING, NUMBER] });
    for (const x of ["5", 5, "true"]) expect(await validate(either, { x })).toEqual({ ok: true, input: { x } });
    expect(await validate(taking1({ type: ["null", "number"] }), { x: null })).toEqual({
      ok: true,
      input: { x: null },
    });
  });

  test('null means "not given" if it is not allowed, and is reported for a required parameter', async () => {
    expect(await validate(taking1(NUMBER), { x: null })).toEqual({ ok: true, input: {} });
    const needed = taking({ type: "object", properties: { x: NUMBER }, required: ["x"] });
    expect(await validate(needed, { x: null })).toMatchObject({
      ok: false,
      issues: [{ path: "x", message: 'parameter "x": expected number, got null' }],
    });
    expect(await validate(taking1(NUMBERS), { x: [1, null] })).toMatchObject({ ok: false });
  });

  test("is converted deep inside too, and only where it does not fit", async () => {
    const tool = taking(
      Type.Object({ list: Type.Array(Type.Object({ n: Type.Number(), s: Type.String() })), "a/b~c": Type.Number() }),
    );
    expect(
      await validate(tool, {
        list: [
          { n: "1", s: "1" },
          { n: 2, s: 2 },
        ],
        "a/b~c": "3",
      }),
    ).toEqual({
      ok: true,
      input: {
        list: [
          { n: 1, s: "1" },
          { n: 2, s: "2" },
        ],
        "a/b~c": 3,
      },
    });
  });

  test("the given value is never changed", async () => {
    const given = { x: { a: "1" } };
    const copy = structuredClone(given);
    expect(await validate(taking1(OBJECT), given)).toEqual({ ok: true, input: { x: { a: 1 } } });
    expect(given).toEqual(copy);
  });

  test("a value that cannot be copied is only validated", async () => {
    expect(await validate(taking1(NUMBER), { x: "5", f: () => 1 })).toMatchObject({ ok: false });
  });

  test("inherited names are not places in the value", async () => {
    const tool = taking({
      type: "object",
      properties: { toString: NUMBER, ["__proto__"]: OBJECT, constructor: NUMBER },
    });
    expect(await validate(tool, { toString: "5" })).toEqual({ ok: true, input: { toString: 5 } });
    expect(Object.prototype.toString.call({})).toBe("[object Object]");
    const parsed = JSON.parse('{"__proto__": "{\\"a\\": 1}"}') as object;
    await validate(tool, parsed);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });
});
