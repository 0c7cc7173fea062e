import { expect, test } from "vitest";
import { widthOf, wrapped } from "../../src/cli/chat/wrap.ts";

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
