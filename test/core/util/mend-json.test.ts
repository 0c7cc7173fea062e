import fc from "fast-check";
import { expect, test } from "vitest";
import { mendJson } from "../../../src/core/util/mend-json.ts";

const fence = (text: string) => `\`\`\`json\n${text}\n\`\`\``;

/**
 * Line breaks and tabs of strings as they are, and a comma after the last value of every object and array that has one.
 */
function damaged(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value).replaceAll(/\\(.)/g, (all, escape: string) => RAW[escape] ?? all);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = Array.isArray(value)
    ? value.map(damaged)
    : Object.entries(value).map(([key, entry]) => `${damaged(key)}: ${damaged(entry)}`);
  const inner = parts.map((part) => `\n\t${part},`).join("");
  return Array.isArray(value) ? `[${inner} ]` : `{${inner}\n}`;
}

const RAW: { readonly [escape: string]: string } = { n: "\n", r: "\r", t: "\t" };

/** Texts with what the mending looks at. */
const text = fc
  .array(fc.constantFrom("a", "\n", "\t", "\r", '"', "\\", ",", "}", "]", "{", "[", ":", " ", "```", "é"))
  .map((parts) => parts.join(""));
const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.boolean(), fc.constant(null), tie("list"), tie("object")),
  list: fc.array(tie("any"), { maxLength: 4 }),
  object: fc.dictionary(text, tie("any"), { maxKeys: 4, noNullPrototype: true }),
})).any;

test("text with these kinds of damage is repaired, fenced or not; valid JSON is not changed", () => {
  fc.assert(
    fc.property(value, (whole) => {
      for (const valid of [JSON.stringify(whole), JSON.stringify(whole, null, 2)]) {
        expect(mendJson(valid)).toBe(valid);
        expect(mendJson(fence(valid))).toBe(valid);
      }
      expect(JSON.parse(mendJson(damaged(whole)))).toEqual(whole);
      expect(JSON.parse(mendJson(fence(damaged(whole))))).toEqual(whole);
    }),
    { numRuns: 1_000 },
  );
});

test.for([
  ["a comma without a value before it", "[,]"],
  ["two commas", '{"a": 1,,}'],
  ["a string that is not closed", '{"a": "b,}'],
  ["quotes of another kind", "{'a': 1}"],
  ["a line that goes on behind a backslash", '{"a": "\\\n"}'],
  ["a missing bracket", '{"a": [1, 2}'],
  ["text around the fence", 'Here it is:\n```json\n{"a": 1}\n```'],
  ["a comment", '{"a": 1 /* one */}'],
] as const)("%s may mean more than one thing, and is not mended", ([, given]) => {
  expect(mendJson(given)).toBe(given);
  expect(() => JSON.parse(mendJson(given))).toThrow(SyntaxError);
});
