import { describe, expect, test } from "vitest";
import { asText } from "../../../src/core/call/result.ts";
import { replacementsDiff } from "../../../src/core/files/diff.ts";
import { locateEdits, replaced } from "../../../src/core/files/edits.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

const MANY = 6_000_000;

/** The size of the text after the edit, or why there is none. */
function edited(text: Buffer, old_text: string, new_text: string): number | string {
  try {
    const places = locateEdits(text, [{ old_text, new_text, replace_all: true }], "f");
    replacementsDiff("f", text, places);
    return replaced(text, 0, text.length, places).length;
  } catch (error) {
    return (error as Error).message;
  }
}

describe("an edit takes time and memory that grow with the file, not with its product with the text", () => {
  test.each<[what: string, text: () => Buffer, old: string, fresh: string, ends: number | RegExp]>([
    ["a letter everywhere", () => Buffer.alloc(MANY, "a"), "a", "b", /more than 100000 times/],
    ["90,000 places on one line", () => Buffer.from(`${"x".repeat(65)}a`.repeat(90_000)), "a", "bb", 6_030_000],
    [
      "a large new text",
      () => Buffer.from("a\n".repeat(90_000)),
      "a",
      "y".repeat(100_000),
      /more than 134217728 bytes/,
    ],
    [
      "a text that nearly matches",
      () => Buffer.alloc(MANY, "a"),
      `${"a".repeat(50_000)}b${"a".repeat(50_000)}`,
      "",
      /not found/,
    ],
    [
      "lines that nearly match",
      () => Buffer.from(`${"\n".repeat(49_999)}x`.repeat(120)),
      "\n".repeat(50_000),
      "",
      /repeats itself/,
    ],
    ["a long text that overlaps itself", () => Buffer.alloc(MANY, "a"), "a".repeat(1_000), "b", 6_000],
  ])("%s", { timeout: 60_000 }, (_, text, old, fresh, ends) => {
    const result = edited(text(), old, fresh);
    if (typeof ends === "number") expect(result).toBe(ends);
    else expect(result).toMatch(ends);
  });

  test("a path that no system takes is refused before anything looks at it", async () => {
    const toolkit = await toolkitWith({ preset: "all", workDir: await workspace({}) });
    const path = "a/".repeat(200_000);
    for (const [name, input] of [
      ["read", { path }],
      ["edit", { path, old_text: "a", new_text: "b" }],
      ["write", { path, content: "" }],
      ["ls", { path }],
      ["grep", { pattern: "a", path }],
    ] as const)
      expect([name, asText(await toolkit.call({ name, input }))]).toEqual([
        name,
        expect.stringContaining("bytes; at most 4096"),
      ]);
  });
});
