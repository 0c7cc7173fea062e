import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { validate } from "../../../src/core/call/validate.ts";

async function messages(schema: object, value: unknown): Promise<readonly string[]> {
  const tool: Tool = defineTool({
    name: "taking",
    description: "Takes it.",
    touches: [],
    input: schema,
    effects: () => [],
    run: async () => null,
  });
  const validated = await validate(tool, value);
  if (validated.ok) throw new Error("it was expected not to fit");
  return validated.issues.map(({ message }) => message);
}

const city = Type.Object(
  { city: Type.String(), days: Type.Optional(Type.Integer({ minimum: 1 })) },
  { additionalProperties: false },
);
const edits = Type.Object({ edits: Type.Array(Type.Object({ old_text: Type.String(), new_text: Type.String() })) });
const unit = Type.Object({ unit: Type.Union([Type.Literal("celsius"), Type.Literal("kelvin")]) });

describe("validation errors in words", () => {
  test.each<[string, object, unknown, readonly string[]]>([
    ["what is missing", city, {}, ['missing required parameter "city"']],
    [
      "what is missing, deep inside",
      edits,
      { edits: [{ new_text: "x" }] },
      ['missing required parameter "edits[0].old_text"'],
    ],
    [
      "several that are missing",
      edits,
      { edits: [{}] },
      ['missing required parameter "edits[0].old_text"', 'missing required parameter "edits[0].new_text"'],
    ],
    ["what is unknown", city, { city: "Rome", wind: 1 }, ['unknown parameter "wind"; known: city, days']],
    [
      "what is nearly known",
      city,
      { city: "Rome", dyas: 1, day: 1 },
      ['unknown parameter "dyas"; known: city, days', 'unknown parameter "day"; did you mean "days"?'],
    ],
    [
      "what takes nothing",
      Type.Object({}, { additionalProperties: false }),
      { a: 1 },
      ['unknown parameter "a"; there are no parameters'],
    ],
    ["another type", city, { city: ["Rome"] }, ['parameter "city": expected string, got an array of 1']],
    ["another type, an object", city, { city: { name: "Rome" } }, ['parameter "city": expected string, got an object']],
    [
      "what nothing fits",
      { properties: { city: false } },
      { city: "Rome" },
      ['parameter "city": no value is allowed here, got string "Rome"'],
    ],
    ["a limit", city, { city: "Rome", days: 0 }, ['parameter "days": must be >= 1, got number 0']],
    [
      "one of several words",
      unit,
      { unit: "fahrenheit" },
      ['parameter "unit": expected one of "celsius", "kelvin", got string "fahrenheit"'],
    ],
    ["no object at all", city, [], ["the arguments: expected object, got an array of 0"]],
    ["a text", city, "Rome", ['the arguments: expected object, got string "Rome"']],
    [
      "a number too large for JSON",
      city,
      { city: "Rome", days: 5n },
      ['parameter "days": expected integer, got bigint 5'],
    ],
  ])("%s", async (_, schema, value, expected) => {
    expect((await messages(schema, value)).toSorted()).toEqual(expected.toSorted());
  });

  test("the given value is truncated", async () => {
    const [message = ""] = await messages(Type.Object({ n: Type.Number() }), { n: "x".repeat(10_000) });
    expect(message.length).toBeLessThan(150);
    expect(message).toContain("…");
  });

  test("all errors are reported at once, also many", async () => {
    const schema = Type.Object(
      Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`p${index}`, Type.Number()])),
    );
    const value = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`p${index}`, "no"]));
    expect(await messages(schema, value)).toHaveLength(20);
  });

  test("line breaks and quotes in the value do not break the sentence", async () => {
    const [message] = await messages(Type.Object({ n: Type.Number() }), { n: 'a\n"b"' });
    expect(message).toBe('parameter "n": expected number, got string "a\\n\\"b\\""');
  });
});
