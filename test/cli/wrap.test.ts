import fc from "fast-check";
import { expect, test } from "vitest";
import { streamWrap, widthOf, wrapped } from "../../src/cli/chat/wrap.ts";
import { cases } from "../support/cases.ts";

function streamed(pieces: readonly string[], columns: number): string {
  const wrap = streamWrap(() => columns);
  return pieces.map((piece) => wrap.add(piece)).join("") + wrap.end();
}

test.each([
  ["a text", ["one two th", "ree four"], "one two \nthree four"],
  ["a word that is too long", ["an extraordinarily long word"], "an \nextraordinar\nily long \nword"],
  ["a line with many spaces", ["one two         three"], "one two    \nthree"],
  ["wide characters", ["日本語を話す人"], "日本語を話\nす人"],
  [
    "code",
    ["```\nsome long", " command\n```\nafter that it wraps"],
    "```\nsome long command\n```\nafter that \nit wraps",
  ],
])("%s is wrapped between words", (_, pieces, expected) => {
  expect(streamed(pieces, 12)).toBe(expected);
});

test("in whatever pieces a text comes, the rows are the same, narrow, and have all words", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "-", " ", "\n"), maxLength: 80 });
  fc.assert(
    fc.property(text, fc.array(fc.nat({ max: 80 })), fc.integer({ min: 4, max: 30 }), (whole, cuts, columns) => {
      const ends = [...cuts.filter((cut) => cut < whole.length).toSorted((one, other) => one - other), whole.length];
      const rows = streamed(
        ends.map((end, at) => whole.slice(ends[at - 1] ?? 0, end)),
        columns,
      );
      expect(rows).toBe(streamed([whole], columns));
      expect(rows.split(/\s+/).join(" ").replaceAll(" ", "")).toBe(whole.replaceAll(/\s/g, ""));
      for (const row of rows.split("\n")) {
        expect(row.trim().includes(" ") ? row.length : 0).toBeLessThan(columns);
      }
    }),
    { numRuns: cases(300) },
  );
});

test("a line is wrapped below the end of its beginning", () => {
  expect(wrapped("/name  what it does and how", 20)).toEqual(["/name  what it does", "       and how"]);
});

test.each([
  ["latin", 5],
  ["کتاب\u200cها", 6],
  ["漢字", 4],
  ["👨\u200d👩\u200d👧", 2],
  ["❤\ufe0f", 2],
  ["e\u0301", 1],
  ["\x1b[1mbold\x1b[0m", 4],
])("%j takes %i columns", (text, columns) => {
  expect(widthOf(text)).toBe(columns);
});
