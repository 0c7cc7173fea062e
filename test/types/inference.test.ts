import { Type } from "typebox";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type CheckedCall,
  type Content,
  type Json,
  type Tool,
  type ToolResult,
  type Toolkit,
  defineTool,
  standardSchema,
  text,
} from "../../src/index.ts";

// What stands here is checked by the compiler (`npm run check`); running it shows that the values are as their types
// say.

const pure = { description: "For a test.", touches: [], effects: () => [] } as const;

describe("the input of a tool has the type of its schema", () => {
  test("of TypeBox", async () => {
    const tool = defineTool({
      ...pure,
      name: "typebox",
      input: Type.Object({
        city: Type.String(),
        days: Type.Optional(Type.Integer()),
        units: Type.Union([Type.Literal("metric"), Type.Literal("imperial")]),
      }),
      run: async (input) => {
        expectTypeOf(input.city).toBeString();
        expectTypeOf(input.units).toEqualTypeOf<"metric" | "imperial">();
        expectTypeOf(input.days).toEqualTypeOf<number | undefined>();
        // @ts-expect-error the schema has no such property
        expect(input.country).toBeUndefined();
        // @ts-expect-error an optional number is no number
        const days: number = input.days;
        return { city: input.city, days: days ?? null };
      },
      render: (data, input) => {
        expectTypeOf(data.city).toBeString();
        expectTypeOf(input.city).toBeString();
        // @ts-expect-error the data has no such property
        expect(data.country).toBeUndefined();
        return data.city;
      },
    });
    expectTypeOf(tool).toExtend<Tool>();
    expect(tool.name).toBe("typebox");
  });

  test("of a JSON Schema literal", () => {
    const tool = defineTool({
      ...pure,
      name: "literal",
      input: {
        type: "object",
        properties: {
          city: { type: "string" },
          days: { type: "number" },
          tags: { type: "array", items: { type: "string" } },
        },
        required: ["city"],
      },
      run: async (input) => {
        expectTypeOf(input.city).toBeString();
        expectTypeOf(input.days).toEqualTypeOf<number | undefined>();
        expectTypeOf(input.tags).toEqualTypeOf<string[] | undefined>();
        // @ts-expect-error the schema has no such property
        return [input.city, input.country ?? null];
      },
    });
    expectTypeOf(tool).toExtend<Tool>();
    expect(tool.input.json["required"]).toEqual(["city"]);
  });

  test("of zod: its output, with defaults and transformations", () => {
    const tool = defineTool({
      ...pure,
      name: "zod",
      input: z.object({
        city: z.string(),
        days: z.number().default(3),
        when: z.string().transform((day) => new Date(day)),
      }),
      run: async (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; when: Date }>();
        // @ts-expect-error a date is no string any more
        const when: string = input.when;
        return when;
      },
    });
    expectTypeOf(tool).toExtend<Tool>();
    expect(tool.input.standard).toBeDefined();
  });

  test("of a Standard Schema with an additional JSON Schema", () => {
    const schema = standardSchema(z.object({ city: z.string() }), { type: "object" });
    const tool = defineTool({
      ...pure,
      name: "standard",
      input: schema,
      run: async (input) => {
        expectTypeOf(input).toEqualTypeOf<{ city: string }>();
        return input.city;
      },
    });
    expect(tool.input).toBe(schema);
  });

  test("also in effects", () => {
    const tool = defineTool({
      name: "effects",
      description: "For a test.",
      touches: ["read"],
      input: Type.Object({ path: Type.String() }),
      effects: (input) => {
        expectTypeOf(input.path).toBeString();
        // @ts-expect-error the schema has no such property
        return [{ kind: "read", path: input.file ?? input.path }];
      },
      run: async () => null,
    });
    expect(tool.effects({ path: "a.txt" })).toEqual([{ kind: "read", path: "a.txt" }]);
  });
});

describe("an invalid tool does not compile", () => {
  test("data that is not JSON", () => {
    // @ts-expect-error a date is no JSON
    defineTool({ ...pure, name: "date", input: {}, run: async () => ({ when: new Date() }) });
    // @ts-expect-error a function is no JSON
    defineTool({ ...pure, name: "function", input: {}, run: async () => ({ go: () => 1 }) });
    expectTypeOf<{ readonly a: readonly (string | null)[] }>().toExtend<Json>();
  });

  test("an unknown effect or kind of effect", () => {
    // @ts-expect-error there is no such kind
    const unknown = () => defineTool({ ...pure, name: "kind", touches: ["destroy"], input: {}, run: async () => null });
    expect(unknown).toThrow('no effect of the kind "destroy"');
    // @ts-expect-error a read names its path
    defineTool({ ...pure, name: "path", input: {}, effects: () => [{ kind: "read" }], run: async () => null });
    expectTypeOf<{ kind: "read" }>().not.toExtend<ReturnType<Tool["effects"]>[number]>();
  });

  test("a tool without a description", () => {
    // @ts-expect-error a model is told what a tool is for
    defineTool({ name: "silent", touches: [], effects: () => [], input: {}, run: async () => null });
    expectTypeOf<Tool["description"]>().toBeString();
  });

  test("a tool without touches has no effects", () => {
    const tool = defineTool({ name: "quiet", description: "For a test.", input: {}, run: async () => null });
    expect([tool.touches, tool.effects({})]).toEqual([[], []]);
  });
});

test("the status of a result decides its content", () => {
  const held = (result: ToolResult): string | readonly Content[] | undefined => {
    // @ts-expect-error not every result has a reason
    if (result.reason === undefined && result.status === "ok") return result.content;
    return result.status === "denied" ? result.reason : undefined;
  };
  expect(held({ status: "ok", content: [text("a")], data: null })).toEqual([text("a")]);
  expect(held({ status: "denied", reason: "no", by: "person" })).toBe("no");
});

test("definitions have the type of their format", () => {
  const typesOf = (toolkit: Toolkit) => {
    expectTypeOf(toolkit.definitions("anthropic")?.[0]?.input_schema.required).toEqualTypeOf<string[] | undefined>();
    expectTypeOf(toolkit.definitions("openai")?.[0]?.function.name).toEqualTypeOf<string | undefined>();
    // @ts-expect-error there is no such format
    toolkit.definitions("yaml");
  };
  expectTypeOf(typesOf).toBeFunction();
  expectTypeOf<CheckedCall>().not.toHaveProperty("decision");
});
