import { describe, expect, test } from "vitest";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { parse } from "../../../src/core/call/parse.ts";
import { outputFault, validate } from "../../../src/core/call/validate.ts";

const ID = "1917043659912705297";

function toolOf(input: object): Tool {
  return defineTool({ name: "t", description: "", input, touches: [], effects: () => [], run: async () => null });
}

const takes = (id: object) => toolOf({ type: "object", properties: { id }, required: ["id"] });

describe("an integer beyond 2^53", () => {
  test.each([
    ["text", { type: "string" }],
    ["text or a number", { type: ["string", "number"] }],
    ["text in a union", { anyOf: [{ type: "integer" }, { type: "string" }] }],
    ["anything", {}],
  ])("keeps its digits where %s is taken", async (_, id) => {
    const { input } = parse({ name: "t", input: `{"id":${ID}}` });
    expect(await validate(takes(id), input)).toEqual({ ok: true, input: { id: ID } });
  });

  test.each([
    ["written as a number", `{"id":${ID}}`],
    ["written as text", `{"id":"${ID}"}`],
    ["rounded by an SDK that parsed it", JSON.parse(`{"id":${ID}}`) as object],
    ["in a text that is JSON", `{"id":"[${ID}]"}`],
  ])("is an error that says what to do where an integer is taken, %s", async (_, given) => {
    const id =
      typeof given === "string" && given.includes("[")
        ? { type: "array", items: { type: "integer" } }
        : { type: "integer" };
    const { input } = parse({ name: "t", input: given });
    const result = await validate(takes(id), input);
    expect(result).toMatchObject({ ok: false });
    if (!JSON.stringify(given)?.includes("[1")) expect(JSON.stringify(result)).toContain("send it as text");
  });

  test("fits the integer of a tool's output schema, as the text that it is kept as", async () => {
    const output = { type: "object", properties: { id: { type: "integer" } } };
    expect(await outputFault(output, { id: ID })).toBeUndefined();
    expect(await outputFault(output, { id: "12" })).toMatch(/id/);
  });
});

describe("a null that stands for an optional argument is absent", () => {
  const object = (properties: object, required: readonly string[] = []) => ({ type: "object", properties, required });
  const inner = object({ mode: { enum: ["a", "b"] }, only: { const: "x" }, k: { type: "integer" } });
  const nulls = { opt: { mode: null, only: null, k: null } };
  test.each<[string, object, object, object]>([
    ["behind a reference", { ...object({ opt: { $ref: "#/$defs/O" } }), $defs: { O: inner } }, nulls, { opt: {} }],
    [
      "behind two references",
      { ...object({ opt: { $ref: "#/$defs/P" } }), $defs: { P: { $ref: "#/$defs/O" }, O: inner } },
      nulls,
      { opt: {} },
    ],
    ["in a branch", object({ opt: { anyOf: [{ type: "string" }, inner] } }), nulls, { opt: {} }],
    ["in all parts", object({ opt: { allOf: [inner] } }), nulls, { opt: {} }],
    [
      "in a list of references",
      { ...object({ list: { type: "array", items: { $ref: "#/$defs/O" } } }), $defs: { O: inner } },
      { list: [{ k: null }, { k: 1 }] },
      { list: [{}, { k: 1 }] },
    ],
    [
      "but not where null is taken behind a reference",
      { ...object({ n: { $ref: "#/$defs/N" }, s: { type: "string" } }), $defs: { N: { type: ["string", "null"] } } },
      { n: null, s: null },
      { n: null },
    ],
  ])("%s", async (_, schema, given, expected) => {
    expect(await validate(toolOf(schema), given)).toEqual({ ok: true, input: expected });
  });
});
