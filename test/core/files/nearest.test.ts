import { expect, test } from "vitest";
import { nearestPlace } from "../../../src/core/files/nearest.ts";

const CODE = [
  "function sum(a, b) {",
  "  const result = a + b;",
  "  return result;",
  "}",
  "",
  "export { sum };",
  "",
].join("\n");

test("different indentation is shown with the lines and their numbers", () => {
  expect(nearestPlace(CODE, "    const result = a + b;\n    return result;")).toBe(
    [
      "The most similar text is at lines 2-3:",
      "2:   const result = a + b;",
      "3:   return result;",
      'Line 1 of old_text differs in its leading or trailing spaces: the file has "  const result = a + b;", old_text "    const result = a + b;".',
    ].join("\n"),
  );
});

test("a line that differs in a letter is found among equal lines", () => {
  expect(nearestPlace(CODE, "function sum(a, b) {\n  const result = a - b;\n  return result;")).toBe(
    [
      "The most similar text is at lines 1-3:",
      "1: function sum(a, b) {",
      "2:   const result = a + b;",
      "3:   return result;",
      'Line 2 of old_text differs: the file has "  const result = a + b;", old_text "  const result = a - b;".',
    ].join("\n"),
  );
});

test("a single line with a mistake is found by its letters", () => {
  expect(nearestPlace(CODE, "  return reslt;")).toMatch(
    /^The most similar text is at line 3:\n3: {3}return result;\nLine 1 of old_text differs: /,
  );
});

test("the differing line is counted from the start of old_text, including blank lines", () => {
  expect(nearestPlace(CODE, "\n\nexport { sun };")).toMatch(/\nLine 3 of old_text differs: /);
});

test("a difference far to the right is shown", () => {
  const long = "word ".repeat(60);
  const hint = nearestPlace(`${long}end\n`, `${long}and`);
  expect(hint).toContain('the file has "…');
  expect(hint).toMatch(/word end", old_text ".*word and"\.$/);
});

test("characters that look alike are distinguished by their code points", () => {
  expect(nearestPlace("say(‘hi’)\n", "say('hi')")).toMatch(/ \(U\+2018, not U\+0027\)\.$/);
  expect(nearestPlace("a\u00a0b cd\n", "a b cd")).toMatch(
    /differs in spaces between words: .* \(U\+00A0, not U\+0020\)\.$/,
  );
  expect(nearestPlace("smile \u{1f600} now\n", "smile \u{1f601} now")).toMatch(/ \(U\+1F600, not U\+1F601\)\.$/);
});

test("equal lines with other blank lines around them are reported as such", () => {
  expect(nearestPlace(CODE, "\n  return result;\n}\n")).toMatch(
    /The lines are the same except for blank lines or spaces around them\.$/,
  );
});

test("of a long text the first twelve lines are shown, each clipped", () => {
  const lines = Array.from({ length: 30 }, (_, line) => `line ${line} ${"x".repeat(300)}`);
  const hint = nearestPlace(lines.join("\n"), lines.join("\n").replace("line 29", "line 30")).split("\n");
  expect(hint[0]).toBe("The most similar text is at lines 1-30:");
  expect(hint[13]).toBe("… 18 more");
  expect(Math.max(...hint.map(({ length }) => length))).toBeLessThan(300);
});

test("a text unlike anything in the file is reported as such", () => {
  for (const wanted of ["completely different text", "\n\n", "}", "zz"]) {
    expect(nearestPlace("alpha\nbeta\n", wanted)).toBe(
      "No similar text was found. Read the file again and copy the text from it.",
    );
  }
});

test("thousands of equal lines on both sides take little time", () => {
  const hint = nearestPlace("the same line\n".repeat(100_000), `${"the same line\n".repeat(50_000)}another line`);
  expect(hint).toMatch(/^The most similar text is at lines 1-50001:/);
});
