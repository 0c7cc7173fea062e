import fc from "fast-check";
import { expect, test } from "vitest";
import { withExactBody, withExactNumbers } from "../../../src/core/util/exact-json.ts";
import { cases } from "../../support/cases.ts";

test.each([
  ['{"id":1917043659912705297}', '{"id":"1917043659912705297"}'],
  ["[-9007199254740993, 12345678901234567.5]", '["-9007199254740993", 12345678901234567.5]'],
  ['{"9007199254740993":"9007199254740993 \\" 9007199254740993"}', undefined],
  ["[9007199254740991,10000000000000000,1e30,1234567890123456789e2,0.12345678901234567]", undefined],
  ['{"cut": "9007199254740993 9007199254740993', undefined],
])("in %s only integers that would be rounded become texts", (json, expected = json) => {
  expect(withExactNumbers(json)).toBe(expected);
});

test("JSON without long integers is unchanged, and long integers keep their digits", () => {
  fc.assert(
    fc.property(fc.json(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }), (json, long) => {
      const digits = `${long}1`; // no zeros at the end
      const read = JSON.parse(withExactNumbers(`{"long":[${digits}],"other":${json}}`)) as {
        long: string[];
        other: unknown;
      };
      expect(read.long).toEqual([digits]);
      const safe = JSON.stringify(JSON.parse(json), (_, each: unknown) => (typeof each === "number" ? 1 : each));
      expect(withExactNumbers(safe)).toBe(safe);
    }),
    { numRuns: cases(200) },
  );
});

test.each(["application/json; charset=utf-8", "text/event-stream"])(
  "a body of the type %s is read by line",
  async (type) => {
    const lines = ['data: {"id":19170436', "59912705297}\n\nda", 'ta: {"é":"\u{1f600}"}\n'];
    const bytes = lines.map((line) => new TextEncoder().encode(line));
    const body = new ReadableStream({
      start(controller) {
        for (const each of bytes) controller.enqueue(each);
        controller.close();
      },
    });
    const exact = withExactBody(new Response(body, { status: 201, headers: { "content-type": type } }));
    expect(exact.status).toBe(201);
    expect(await exact.text()).toBe('data: {"id":"1917043659912705297"}\n\ndata: {"é":"\u{1f600}"}\n');
  },
);
