import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { type Edit, locateEdits, replaced } from "../../../src/core/files/edits.ts";

describe("the line breaks of a file", () => {
  test.for([
    ["one\r\ntwo\r\n", "one\ntwo", "1\n2", "1\r\n2\r\n"],
    ["one\ntwo\n", "one\r\ntwo", "1\r\n2", "1\r\n2\n"],
    ["one\r\ntwo\r\n", "two", "two\nthree", "one\r\ntwo\r\nthree\r\n"],
    ["one\r\ntwo", "two", "two\nthree", "one\r\ntwo\r\nthree"],
    ["one\r\ntwo\r\n", "\ntwo", "", "one\r\n"],
    ["one\r\ntwo\r\n", "one\r", "1\r", "1\r\ntwo\r\n"],
    ["one\rtwo\r", "one\rtwo", "1\r2", "1\r2\r"],
    ["a\r\nb\nc\r\n", "c\n", "c\nd\n", "a\r\nb\nc\r\nd\r\n"],
    ["a\r\nb\nc\r\n", "b\n", "B\nB\n", "a\r\nB\nB\nc\r\n"],
    // Unchanged lines keep their own breaks.
    ["a\r\nb\nc\r\nd\n", "a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\r\nB\nc\r\nd\n"],
    ["a\nb\r\nc\nd\r\n", "a\nb\nc\nd", "a\nb\nnew\nc\nd", "a\nb\r\nnew\nc\nd\r\n"],
    ["a\nb\r\nc\n", "a\nb\nc", "a\nc", "a\nc\n"],
  ] as const)("in %j: %j becomes %j, which gives %j", ([before, old_text, new_text, after]) => {
    expect(edited(before, [{ old_text, new_text }])).toBe(after);
  });

  test("do not count as a change if only they differ, because the file keeps its own", () => {
    for (const new_text of ["one\ntwo", "one\r\ntwo"]) {
      expect(() => edited("one\r\ntwo\r\n", [{ old_text: "one\ntwo", new_text }])).toThrow(/are the same/);
    }
    expect(() => edited("a\r\nb\nc\n", [{ old_text: "a\nb\nc", new_text: "a\nb\nc" }])).toThrow(/are the same/);
  });

  test("do not make one place ambiguous if the text begins or ends with a line break", () => {
    expect(edited("a\r\n\r\nb\r\n", [{ old_text: "\n\nb", new_text: "\nb" }])).toBe("a\r\nb\r\n");
    expect(() => edited("a\r\nb\r\n", [{ old_text: "\n", new_text: "" }])).toThrow(
      /occurs 2 times in f: on lines 1, 2/,
    );
  });
});

describe("several edits", () => {
  test("are matched against the original, in any order", () => {
    const edits = [
      { old_text: "c", new_text: "a" },
      { old_text: "a", new_text: "b" },
      { old_text: "b", new_text: "c" },
    ];
    expect(edited("a b c\n", edits)).toBe("b c a\n");
  });

  test("may touch each other", () => {
    expect(
      edited("ab", [
        { old_text: "b", new_text: "2" },
        { old_text: "a", new_text: "1" },
      ]),
    ).toBe("12");
  });

  test("that overlap, even by one character, are rejected with their numbers and the line", () => {
    const overlaps = [
      [
        { old_text: "two", new_text: "2" },
        { old_text: "one\nt", new_text: "1" },
      ],
      [
        { old_text: "one\ntwo\n", new_text: "x" },
        { old_text: "two", new_text: "y" },
      ],
      [
        { old_text: "two", new_text: "x" },
        { old_text: "two", new_text: "y" },
      ],
    ];
    for (const edits of overlaps) {
      expect(() => edited("one\ntwo\n", edits)).toThrow(
        /^edits 1 and 2 overlap in f, near line 2; nothing was changed$/,
      );
    }
  });

  test("are all rejected if one is invalid, which is named by its number", () => {
    const good = { old_text: "one", new_text: "1" };
    expect(() => edited("one\n", [good, { old_text: "three", new_text: "3" }])).toThrow(
      /^edit 2: old_text was not found in f$/,
    );
    expect(() => edited("one\n", [{ old_text: "", new_text: "3" }, good])).toThrow(/^edit 1: old_text is empty/);
  });
});

describe("replace_all", () => {
  const all = (before: string, old_text: string, new_text: string) =>
    edited(before, [{ old_text, new_text, replace_all: true }]);

  test("replaces all occurrences from the first on, without overlaps, with the line breaks of each place", () => {
    expect(all("x y x", "x", "xx")).toBe("xx y xx");
    expect(all("aXaXa", "aXa", "b")).toBe("bXa");
    expect(all("one\n", "one", "1")).toBe("1\n");
    expect(all("a\r\nb\na\nb\n", "a\nb", "a\nc\nb")).toBe("a\r\nc\r\nb\na\nc\nb\n");
  });

  test("is rejected if nothing is found, nothing changes, or another edit overlaps one of the places", () => {
    expect(() => all("one\n", "two", "2")).toThrow(/^old_text was not found in f$/);
    expect(() => all("one one\n", "one", "one")).toThrow(/are the same/);
    const edits = [
      { old_text: "b", new_text: "c", replace_all: true },
      { old_text: "2 b", new_text: "" },
    ];
    expect(() => edited("1 b\n2 b\n", edits)).toThrow(/^edits 1 and 2 overlap in f, near line 2/);
  });
});

test("exactly the requested text is replaced, and everything else is unchanged", () => {
  const piece = fc.constantFrom("a", "b", "\n", "\r\n", "\r", "}", " ", "é", "\u{1f600}", "\ufeff");
  const text = (longest: number) =>
    fc.array(piece, { minLength: 1, maxLength: longest }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(text(30), fc.nat(), fc.integer({ min: 1, max: 8 }), text(6), (before, from, length, new_text) => {
      const characters = before.match(/\r\n|[^]/gu) ?? [];
      const first = from % characters.length;
      const head = characters.slice(0, first).join("");
      const old_text = characters.slice(first, first + length).join("");
      const tail = before.slice(head.length + old_text.length);
      const after = attempt(() => edited(before, [{ old_text, new_text }]));
      if (after instanceof ToolFailure) {
        expect(after.message).toMatch(/occurs \d+ times|are the same/);
        expect(placesOf(old_text, before) > 1 || same(old_text, new_text)).toBe(true);
        return;
      }
      expect(placesOf(old_text, before)).toBe(1);
      expect(after.startsWith(head) && after.endsWith(tail)).toBe(true);
      const fresh = after.slice(head.length, after.length - tail.length);
      expect(fresh.replaceAll("\r\n", "\n")).toBe(new_text.replaceAll("\r\n", "\n"));
    }),
    { numRuns: 1_000 },
  );
});

function edited(before: string, edits: readonly Edit[]): string {
  const utf8 = Buffer.from(before);
  return replaced(utf8, 0, utf8.length, locateEdits(utf8, edits, "f")).toString();
}

function attempt(work: () => string): string | ToolFailure {
  try {
    return work();
  } catch (error) {
    if (error instanceof ToolFailure) return error;
    throw error;
  }
}

/** Counts the places of a text, with any line break in place of each of its own, by trying every character. */
function placesOf(wanted: string, text: string): number {
  const escaped = wanted.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\r?\n/g, "\r?\n");
  const pattern = new RegExp(escaped, "y");
  let places = 0;
  for (let at = 0; at < text.length; at++) {
    if (/^\r?\n/.test(wanted) && text.slice(at - 1, at + 1) === "\r\n") continue; // counted with its "\r"
    pattern.lastIndex = at;
    if (pattern.test(text)) places++;
  }
  return places;
}

function same(one: string, other: string): boolean {
  return one.replaceAll("\r\n", "\n") === other.replaceAll("\r\n", "\n");
}
