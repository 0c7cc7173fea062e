import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines, readDiff, sizeOfDiff } from "../../../src/cli/chat/draw/diff.ts";
import { painted } from "../../../src/cli/chat/draw/paint.ts";
import { widthOf } from "../../../src/cli/chat/draw/text.ts";
import { unifiedDiff } from "../../../src/core/files/diff.ts";
import { cases } from "../../support/cases.ts";

const drawn = (diff: string, columns: number) => {
  const read = readDiff(diff);
  if (read === undefined) throw new Error(`expected a diff, got ${diff}`);
  return diffLines(read, columns).map(painted);
};
const plain = (diff: string, columns: number) =>
  drawn(diff, columns).map((line) => stripVTControlCharacters(line).trimEnd());
const between = (before: string, after: string) => unifiedDiff("a.js", "a.js", before, after);

test("a change is drawn with numbers, signs and context, and a long line continues below a mark", () => {
  const settings = (ssl: string) => `const settings = { host: "db.internal", user: "shop", ssl: ${ssl} };\n`;
  const before = `one\n${settings("true")}${"same\n".repeat(8)}last\n`;
  const after = `one\n${settings("false")}${"same\n".repeat(8)}new\nlast\n`;
  expect(plain(between(before, after), 60)).toEqual([
    " 1   one",
    ' 2 - const settings = { host: "db.internal", user: "shop", s',
    "   ⤷ sl: true };",
    ' 2 + const settings = { host: "db.internal", user: "shop", s',
    "   ⤷ sl: false };",
    " 3   same",
    " 4   same",
    " 5   same",
    "   ⋮",
    " 8   same",
    " 9   same",
    "10   same",
    "11 + new",
    "12   last",
  ]);
});

test("changed words are bold and underlined, also where a line was added before them", () => {
  const lines = drawn(between("let a = first;\n", "// why\nlet a = second;\n"), 60);
  expect(lines).toEqual([
    "\x1b[2m1 \x1b[0m\x1b[31m- let a = \x1b[0m\x1b[1;4;31mfirst\x1b[0m\x1b[31m;\x1b[0m",
    "\x1b[2m1 \x1b[0m\x1b[32m+ // why\x1b[0m",
    "\x1b[2m2 \x1b[0m\x1b[32m+ let a = \x1b[0m\x1b[1;4;32msecond\x1b[0m\x1b[32m;\x1b[0m",
  ]);
});

test("tabs are four columns, and visible in changed lines", () => {
  expect(plain(between("\ta\n\tb\n", "\ta\n\tc\n"), 60)).toEqual(["1       a", "2 - →   b", "2 + →   c"]);
});

test.each([
  ["wide characters", "日本語の変更", ["1 + 日本語", "  ⤷ の変更"]],
  [
    "emoji",
    "👩\u200d👩\u200d👧👩\u200d👩\u200d👧👩\u200d👩\u200d👧👩\u200d👩\u200d👧",
    ["1 + 👩\u200d👩\u200d👧👩\u200d👩\u200d👧👩\u200d👩\u200d👧", "  ⤷ 👩\u200d👩\u200d👧"],
  ],
  ["Persian", "می\u200cخواهم", ["1 + می\u200cخواهم"]],
  ["escape sequences", "\x1b[2J!", ["1 + \\x1b[2J", "  ⤷ !"]],
  ["bidi controls", "a\u202eb", ["1 + a\\u202e", "  ⤷ b"]],
])("%s are cut between clusters, and controls are text", (_, line, rows) => {
  expect(plain(unifiedDiff(undefined, "a", "", `${line}\n`), 11)).toEqual(rows);
});

test("in a wide window, the old and the new lines are side by side", () => {
  const [first = "", second = "", third = "", ...more] = plain(
    between("one\nlet a = first;\nlast\n", "one\n// why\nlet a = second;\nlast\n"),
    140,
  );
  expect(first).toMatch(/^1 {3}one +│ 1 {3}one$/);
  expect(second).toMatch(/^ +│ 2 \+ \/\/ why$/);
  expect(third).toMatch(/^2 - let a = first; +│ 3 \+ let a = second;$/);
  expect(more.join()).toMatch(/^3 {3}last +│ 4 {3}last$/);
});

test("reads a change without line numbers, and nothing else", () => {
  expect(plain("-old\n+new", 60)).toEqual(["  - old", "  + new"]);
  const diff = readDiff(between("a\n", "b\nc"));
  expect(diff && sizeOfDiff(diff)).toBe("+2 −1");
  expect(readDiff(unifiedDiff(undefined, "a", "", "x\n"))?.isNew).toBe(true);
  expect(readDiff("Created a.txt (4B)")).toBeUndefined();
});

test("no row is too wide, and all of both texts is there, at any width", () => {
  const line = fc.string({
    unit: fc.constantFrom("a", "b", " ", "日", "👩\u200d👧", "e\u0301", "\x1b"),
    maxLength: 30,
  });
  const text = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => `${lines.join("\n")}\n`);
  fc.assert(
    fc.property(text, text, fc.integer({ min: 12, max: 150 }), (before, after, columns) => {
      fc.pre(before !== after);
      const rows = drawn(between(before, after), columns);
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns);
      if (columns >= 136) return;
      const added = plain(between(before, after), columns)
        .filter((row) => !row.includes("⋮"))
        .map((row) => (row.startsWith("  ⤷ ") ? row.slice(4) : `\n${row.slice(2)}`))
        .join("")
        .split("\n")
        .filter((row) => row.startsWith("+"))
        .map((row) => row.slice(2).replaceAll(/\s/g, ""));
      const shown = new Set(after.split("\n").map((each) => each.replaceAll("\x1b", "\\x1b").replaceAll(/\s/g, "")));
      for (const each of added) expect(shown).toContain(each);
    }),
    { numRuns: cases(200) },
  );
});
