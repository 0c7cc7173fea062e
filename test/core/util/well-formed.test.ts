import fc from "fast-check";
import { expect, test } from "vitest";
import { wellFormed } from "../../../src/core/util/well-formed.ts";
import { cases } from "../../support/cases.ts";

test("half a surrogate pair is replaced in texts and names, and whole pairs stay", () => {
  const given = { "a\ud800": ["\udc00x", "\u{1f600}", 1, null], date: new Date(0) };
  expect(wellFormed(given)).toEqual({ "a\ufffd": ["\ufffdx", "\u{1f600}", 1, null], date: new Date(0) });
});

test("no value has half a pair afterwards, and one without any is returned as it is", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ stringUnit: "binary" }),
      fc.array(fc.integer({ min: 0xd7f0, max: 0xe010 })),
      (value, units) => {
        expect(wellFormed(value)).toBe(value);
        const odd = { value, text: String.fromCharCode(...units) };
        expect(JSON.stringify(wellFormed(odd))).not.toMatch(/\\ud[89a-f]/);
      },
    ),
    { numRuns: cases(200) },
  );
});
