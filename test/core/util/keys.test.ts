import { expect, test } from "vitest";
import { strokesOfKey, strokesOfText } from "../../../src/core/util/keys.ts";

test.each<[string, readonly string[] | undefined]>([
  ["a", ["a"]],
  ["Ä", ["Ä"]],
  ["😀", ["😀"]],
  ["space", [" "]],
  ["KP-", ["-"]],
  ["kp/", ["/"]],
  ["enter", ["Enter"]],
  ["KPEnter", ["Enter"]],
  ["C-m", ["Enter"]],
  ["c-M", ["Enter"]],
  ["^j", ["Enter"]],
  ["S-Up", ["S-Up"]],
  ["C-M-Left", ["Escape", "C-Left"]],
  ["S-Enter", undefined],
  ["S-a", undefined],
  ["M-S-x", undefined],
  ["C-M-Tab", undefined],
  ["M-Enter", ["Escape", "Enter"]],
  ["C-M-m", ["Escape", "Enter"]],
  ["M-x", ["Escape", "x"]],
  ["^I", ["Tab"]],
  ["C-[", ["Escape"]],
  ["C-h", ["BSpace"]],
  ["C-C", ["C-c"]],
  ["^", ["^"]],
  ["^^", ["C-^"]],
  ["C-Space", ["C-Space"]],
  ["C-up", ["C-Up"]],
  ["pgdn", ["PageDown"]],
  ["DC", ["Delete"]],
  ["\u0003", ["C-c"]],
  ["\u001b", ["Escape"]],
  ["NoSuchKey", undefined],
  ["C-NoSuchKey", undefined],
  ["ab", undefined],
  ["", undefined],
])("the key %j is the strokes %j", (key, strokes) => {
  expect(strokesOfKey(key)).toEqual(strokes);
});

test("text is its characters, and the keys that its control characters are", () => {
  expect(strokesOfText("a😀\r\nb\rc\n\td\u0015\u007f\u0000\u001b")).toEqual([
    "a",
    "😀",
    "Enter",
    "b",
    "Enter",
    "c",
    "Enter",
    "Tab",
    "d",
    "C-u",
    "BSpace",
    "C-Space",
    "Escape",
  ]);
});
