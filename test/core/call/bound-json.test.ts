import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/core/contract/schema.ts";
import { asJson, boundJson } from "../../../src/core/call/bound-json.ts";
import { DEFAULT_MAX_BYTES } from "../../../src/core/output/truncate.ts";
import { cases } from "../../support/cases.ts";

const LONG = "x".repeat(2 * DEFAULT_MAX_BYTES);

describe("asJson", () => {
  test("plain JSON is returned as the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(asJson(value)).toBe(value);
      }),
    );
  });

  test.each<[string, unknown, unknown]>([
    ["nothing", undefined, null],
    ["a date", { when: new Date(0) }, { when: "1970-01-01T00:00:00.000Z" }],
    ["what is left out", { a: undefined, f: () => 1, b: [undefined] }, { b: [null] }],
    ["no number", [NaN, Infinity], [null, null]],
    ["a hole", Object.assign([1], { length: 3 }), [1, null, null]],
    [
      "an object of a class",
      new (class Point {
        x = 1;
      })(),
      { x: 1 },
    ],
    ["a map", new Map([["a", 1]]), {}],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ["one that says how", { toJSON: () => "said" }, "said"],
  ])("%s becomes what JSON.stringify makes of it", (_, value, expected) => {
    expect(asJson(value)).toEqual(expected);
  });

  test("also after so much text that it would be truncated", () => {
    expect(asJson({ long: LONG, when: new Date(0) })).toEqual({ long: LONG, when: "1970-01-01T00:00:00.000Z" });
    expect(asJson({ long: LONG, left: undefined })).toEqual({ long: LONG });
    expect(asJson([LONG, 1n])).toBeUndefined();
  });

  test("values that JSON cannot hold give undefined", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    for (const value of [circle, { n: 1n }, deep, { long: LONG, circle }, Symbol("x"), () => 1])
      expect(asJson(value)).toBeUndefined();
  });
});

describe("boundJson", () => {
  const sizeOf = (value: Json) => JSON.stringify(value).length;

  test("a value that fits is returned as the same value", () => {
    const value = { a: ["x".repeat(50_000)], b: null };
    expect(boundJson(value, "head")).toBe(value);
  });

  test.each(["head", "tail"] as const)("the result is bounded JSON for any input (%s)", (keep) => {
    const big: fc.Arbitrary<Json> = fc.oneof(
      fc.array(fc.string({ maxLength: 400 }), { minLength: 100, maxLength: 400 }),
      fc.dictionary(fc.string({ maxLength: 300 }), fc.jsonValue() as fc.Arbitrary<Json>, {
        minKeys: 50,
        maxKeys: 300,
        size: "max",
      }),
      fc
        .nat(120)
        .map((depth) =>
          Array.from({ length: depth }).reduce<Json>((inner) => ({ inner, more: "y".repeat(1_000) }), "end"),
        ),
      fc.constantFrom<Json>(
        LONG,
        [LONG, LONG],
        { [LONG]: 1, a: 2 },
        { a: { [LONG]: 1 } },
        Array.from({ length: 100_000 }, () => 1),
        Array.from({ length: 100_000 }, () => []),
      ),
    );
    fc.assert(
      fc.property(big, (value) => {
        const bounded = boundJson(value, keep);
        // Quotes, commas and marks are added to the counted text.
        expect(sizeOf(bounded)).toBeLessThan(8 * DEFAULT_MAX_BYTES);
        expect(JSON.stringify(asJson(bounded))).toBe(JSON.stringify(bounded));
      }),
      { numRuns: cases(20) },
    );
  });

  test("a text is truncated at the end that is not kept, with a mark", () => {
    expect(boundJson(`start ${LONG} end`, "head")).toMatch(/^start x+\n\[truncated\]$/);
    expect(boundJson(`start ${LONG} end`, "tail")).toMatch(/^\[truncated\]\nx+ end$/);
  });

  test("lists and objects keep their first entries, with a mark for the others", () => {
    const list = boundJson(
      Array.from({ length: 100_000 }, (_, index) => index),
      "head",
    ) as readonly Json[];
    expect(list[0]).toBe(0);
    expect(list.at(-1)).toBe(`[${100_000 - (list.length - 1)} more left out]`);
    const object = boundJson({ a: 1, b: LONG, c: 3 }, "head") as { [key: string]: Json };
    expect(object["a"]).toBe(1);
    expect(object["…"]).toBe("[1 more left out]");
  });

  test("an entry with a key that is too long is omitted", () => {
    expect(boundJson({ a: 1, [LONG]: 2, c: 3 }, "head")).toEqual({ a: 1, "…": "[2 more left out]" });
  });

  test("too deeply nested data is omitted", () => {
    let deep: Json = "bottom";
    for (let depth = 0; depth < 200; depth++) deep = [deep];
    expect(JSON.stringify(boundJson(deep, "head"))).toContain("[left out: nested too deeply]");
    expect(JSON.stringify(boundJson(deep, "head"))).not.toContain("bottom");
  });

  test("a key __proto__ is like any other", () => {
    const value = JSON.parse(`{"__proto__": {"evil": true}, "long": "${LONG}"}`) as Json;
    const bounded = boundJson(value, "head") as { evil?: Json };
    expect(bounded.evil).toBeUndefined();
    expect(JSON.stringify(bounded)).toContain('"__proto__":{"evil":true}');
  });
});
