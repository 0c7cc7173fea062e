import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { createToolkit } from "../../../src/app/toolkit.ts";
import { toolkitWith } from "../../support/workspace.ts";

const taking = (input: object) =>
  defineTool({
    name: "taking",
    description: "Takes it.",
    input,
    touches: [],
    effects: () => [],
    run: async () => null,
  });

/** A schema with this one for the argument `it`. */
const of = (argument: unknown) => ({ type: "object", properties: { it: argument } });

const NOWHERE =
  "refers to nothing in this schema. Define it under $defs and refer to it as #/$defs/NAME; other documents are not loaded.";
const TYPES = 'expected one of "array", "boolean", "integer", "null", "number", "object", "string"';

describe("createToolkit refuses a schema that does not compile, or that the compiler misreads, with the place", () => {
  test.each<[string, object, string]>([
    ["a $ref to nothing", of({ $ref: "#/$defs/City" }), `#/properties/it/$ref: "#/$defs/City" ${NOWHERE}`],
    [
      "a $ref to another document",
      of({ $ref: "https://example.org/city.json" }),
      `#/properties/it/$ref: "https://example.org/city.json" ${NOWHERE}`,
    ],
    [
      "a $ref that is no reference",
      of({ $ref: "#/%zz" }),
      '#/properties/it/$ref: must match format "uri-reference", got string "#/%zz"',
    ],
    ["a $ref that is no string", of({ $ref: 5 }), "#/properties/it/$ref: expected string, got number 5"],
    [
      "a $ref in what only a $ref leads to",
      { ...of({ $ref: "#/components/City" }), components: { City: { $ref: "#/x" } } },
      `#/components/City/$ref: "#/x" ${NOWHERE}`,
    ],
    [
      "a $ref in circles",
      { ...of({ $ref: "#/$defs/a" }), $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { $ref: "#/$defs/a" } } },
      '#/properties/it/$ref: "#/$defs/a" refers to itself, so no value can be checked against it',
    ],
    ["a $dynamicRef to nothing", of({ $dynamicRef: "#city" }), `#/properties/it/$dynamicRef: "#city" ${NOWHERE}`],
    ["an unknown type", of({ type: "dict" }), `#/properties/it/type: ${TYPES}, got string "dict"`],
    [
      "an unknown type among others",
      of({ type: ["string", "any"] }),
      `#/properties/it/type: ${TYPES}, got an array of 2`,
    ],
    ["a type that JSON does not have", of(Type.BigInt()), `#/properties/it/type: ${TYPES}, got string "bigint"`],
    [
      "no type among none",
      of({ type: [] }),
      "#/properties/it/type: must not have fewer than 1 items, got an array of 0",
    ],
    [
      "a pattern that does not compile",
      of({ pattern: "(" }),
      "#/properties/it/pattern: Invalid regular expression: /(/u: Unterminated group",
    ],
    [
      "a pattern that compiles only without the flag u",
      of({ pattern: "^[\\w-.]+$" }),
      "#/properties/it/pattern: Invalid regular expression: /^[\\w-.]+$/u: Invalid character class",
    ],
    [
      "a pattern of names",
      of({ patternProperties: { "a/(": {} } }),
      "#/properties/it/patternProperties/a~1(: Invalid regular expression: /a/(/u: Unterminated group",
    ],
    [
      "no schema where there should be one",
      of("string"),
      '#/properties/it: expected one of object, boolean, got string "string"',
    ],
    ["none in a list", of({ anyOf: [null] }), "#/properties/it/anyOf/0: expected one of object, boolean, got null"],
    [
      "nothing to choose from",
      of({ anyOf: [] }),
      "#/properties/it/anyOf: must not have fewer than 1 items, got an array of 0",
    ],
    ["properties in a list", { properties: [] }, "#/properties: expected object, got an array of 0"],
    [
      "a required that is no list",
      of({ type: "string", required: true }),
      "#/properties/it/required: expected array, got boolean true",
    ],
    [
      "a limit that is no number",
      of({ items: { minimum: "5" } }),
      '#/properties/it/items/minimum: expected number, got string "5"',
    ],
    ["a fraction of a length", of({ maxLength: 1.5 }), "#/properties/it/maxLength: expected integer, got number 1.5"],
    [
      "arguments that are no object",
      Type.String(),
      '#/type: expected "object", since the arguments are an object, got string "string"',
    ],
  ])("%s", async (_, input, problem) => {
    const message = `the input schema of tool "taking" is invalid at ${problem}`;
    await expect(createToolkit({ tools: [taking(input)] })).rejects.toThrow(new TypeError(message));
  });
});

test("a valid schema of any dialect defines a tool that can be called", async () => {
  const Node = Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node");
  const schemas: readonly (readonly [object, unknown])[] = [
    [{}, { it: 1 }],
    [
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        ...of({ $ref: "#/definitions/a" }),
        definitions: { a: { items: [{}] } },
      },
      { it: [1] },
    ],
    [{ ...of({ $ref: "#city" }), $defs: { City: { $anchor: "city", type: "string" } } }, { it: "Rome" }],
    [
      { $id: "https://example.org/tool.json", ...of({ $ref: "city.json" }), $defs: { c: { $id: "city.json" } } },
      { it: 1 },
    ],
    [of({ $ref: "#" }), { it: {} }],
    // as the validator takes it
    [of({ $defs: { a: true }, properties: { b: { $ref: "#/$defs/a" } } }), { it: { b: 1 } }],
    [
      of({ type: "string", nullable: true, format: "city", "x-order": 1, enum: ["a"], minimum: undefined }),
      { it: "a" },
    ],
    [of(true), { it: 1 }],
    [
      { properties: { $ref: { type: "string" }, type: { const: { type: "dict" } } }, default: { $ref: "#/x" } },
      { $ref: "a" },
    ],
    [Type.Object({ it: Node }), { it: { next: {} } }],
    [Type.Object({ it: Type.Tuple([Type.String()]) }), { it: ["a"] }],
    [Type.Object({ it: Type.String({ pattern: /^a/ }) }), { it: "a" }],
    [z.object({ it: z.string().regex(/^[\w.-]+$/) }), { it: "a" }],
  ];
  for (const [schema, input] of schemas) {
    const toolkit = await toolkitWith({ tools: [taking(schema)] });
    expect(await toolkit.call({ name: "taking", input }), JSON.stringify(schema)).toMatchObject({ status: "ok" });
  }
});
