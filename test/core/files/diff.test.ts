import fc from "fast-check";
import { expect, test } from "vitest";
import { replacementsDiff, unifiedDiff } from "../../../src/core/files/diff.ts";
import type { Replacement } from "../../../src/core/files/edits.ts";
import { gitApplied } from "../../tools/git.ts";
import { cases } from "../../support/cases.ts";

test("a line inserted among equal lines has its context, and git applies it there, not at the file's end", async () => {
  const before = `${"a\n".repeat(9)}b\n${"a\n".repeat(9)}end\n`;
  const at = before.indexOf("b\n") + 2;
  const diff = replacementsDiff("a.txt", Buffer.from(before), [{ start: at - 2, end: at, text: "b\na\n" }]);
  expect(diff).toBe("--- a/a.txt\n+++ b/a.txt\n@@ -8,6 +8,7 @@\n a\n a\n b\n+a\n a\n a\n a\n");
  expect((await gitApplied("a.txt", before, diff)).toString()).toBe(before.replace("b\n", "b\na\n"));
});

test("replacements in repeated lines: git apply produces the new text from the diff", async () => {
  // Few different lines, so that many places look alike and the shortest change may be found at another one.
  const lines = fc.array(fc.constantFrom("a\n", "a\n", "a\n", "b\n", "}\n", "\n"), { minLength: 1, maxLength: 40 });
  const change = fc.record({
    at: fc.nat(),
    length: fc.nat(12),
    text: fc.constantFrom("", "a", "a\n", "b\n", "\n", "a\na\n", "}\n}", "x"),
  });
  const changes = fc.array(change, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(lines, fc.boolean(), changes, async (written, ended, wanted) => {
      const before = written.join("").slice(0, ended ? undefined : -1) || "a";
      const replacements = inOrder(before, wanted);
      const after = made(before, replacements);
      const diff = replacementsDiff("a.txt", Buffer.from(before), replacements);
      if (after === before) expect(diff).toBe("");
      else expect((await gitApplied("a.txt", before, diff)).toString()).toBe(after);
    }),
    { numRuns: cases(60) },
  );
});

test("two whole texts give a diff that git applies, also if one is empty", async () => {
  const text = fc
    .tuple(fc.array(fc.constantFrom("a", "b", "", "\ttwo words", "é文"), { maxLength: 12 }), fc.boolean())
    .map(([lines, ended]) => lines.join("\n") + (ended && lines.length > 0 ? "\n" : ""));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const diff = unifiedDiff("a.txt", "a.txt", before, after);
      if (before === after) expect(diff).toBe("");
      else expect((await gitApplied("a.txt", before, diff)).toString()).toBe(after);
    }),
    { numRuns: cases(20) },
  );
});

test("a change of thousands of lines is one block with its context, which git applies", async () => {
  const numbered = (word: string, count: number) =>
    Array.from({ length: count }, (_, line) => `${word} ${line}\n`).join("");
  const [head, tail] = [numbered("head", 8), numbered("tail", 8)];
  const [old, fresh] = [numbered("old", 2_500), numbered("new", 2_400)];
  const diff = replacementsDiff("a.txt", Buffer.from(head + old + tail), [
    { start: head.length, end: head.length + old.length, text: fresh },
  ]);
  expect(diff.split("\n")[2]).toBe("@@ -6,2506 +6,2406 @@");
  expect((await gitApplied("a.txt", head + old + tail, diff)).toString()).toBe(head + fresh + tail);
});

test("a file that is added or removed is named /dev/null on that side", () => {
  expect(unifiedDiff(undefined, "a.txt", "", "one\n")).toBe("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n");
  expect(unifiedDiff("a.txt", undefined, "one", "")).toBe(
    "--- a/a.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n\\ No newline at end of file\n",
  );
});

/** Replacements that do not overlap, in order. */
function inOrder(
  text: string,
  wanted: readonly { readonly at: number; readonly length: number; readonly text: string }[],
): readonly Replacement[] {
  const placed = wanted.map(({ at, length, text: fresh }) => {
    const start = at % text.length;
    return { start, end: Math.min(text.length, start + 1 + length), text: fresh };
  });
  const sorted = placed.toSorted((one, other) => one.start - other.start);
  return sorted.filter(({ start }, index) => sorted.slice(0, index).every(({ end }) => end <= start));
}

function made(text: string, replacements: readonly Replacement[]): string {
  return replacements
    .toReversed()
    .reduce((now, { start, end, text: fresh }) => now.slice(0, start) + fresh + now.slice(end), text);
}
