import { describe, expect, test } from "vitest";
import fc from "fast-check";
import type { Limit } from "../../../src/core/contract/tool.ts";
import { countCharacters, countLines } from "../../../src/core/output/measure.ts";
import {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  rangeNotice,
  savedNotice,
  truncateHead,
  truncateTail,
} from "../../../src/core/output/truncate.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

describe("whole lines", () => {
  test("a text within its limits is returned as it is", () => {
    expect(truncateHead("a\nb", { lines: 2, bytes: 3, characters: 3 })).toEqual({
      text: "a\nb",
      truncated: false,
      limit: { lines: 2, bytes: 3, characters: 3 },
      insideLine: false,
      shownLines: 2,
      totalLines: 2,
      shownBytes: 3,
      totalBytes: 3,
    });
  });

  test("the empty text has no lines", () => {
    expect(truncateHead("", { lines: 0, bytes: 0 })).toMatchObject({ text: "", truncated: false, totalLines: 0 });
    expect(truncateTail("", { lines: 0, bytes: 0 })).toMatchObject({ text: "", truncated: false, totalLines: 0 });
  });

  test("the default limit is 2,000 lines", () => {
    const text = numbered(DEFAULT_MAX_LINES + 1);
    const head = truncateHead(text);
    expect(head).toMatchObject({ truncated: "lines", shownLines: 2000, totalLines: 2001, insideLine: false });
    expect(head.text.endsWith("line 2000\n")).toBe(true);
    const tail = truncateTail(text);
    expect(tail).toMatchObject({ truncated: "lines", shownLines: 2000, totalLines: 2001, insideLine: false });
    expect(tail.text.startsWith("line 2\n")).toBe(true);
    expect(tail.text.endsWith("line 2001\n")).toBe(true);
  });

  test("the default limit is 51,200 bytes", () => {
    const text = `${"x".repeat(99)}\n`.repeat(600);
    expect(truncateHead(text)).toMatchObject({ truncated: "bytes", shownBytes: DEFAULT_MAX_BYTES, shownLines: 512 });
    expect(truncateTail(text)).toMatchObject({ truncated: "bytes", shownBytes: DEFAULT_MAX_BYTES, totalBytes: 60_000 });
  });

  test("a final newline ends the last line and does not count as one more", () => {
    expect(truncateHead("a\nb\n", { lines: 2 }).truncated).toBe(false);
    expect(truncateTail("a\nb\n", { lines: 1 }).text).toBe("b\n");
    expect(truncateTail("a\nb", { lines: 1 }).text).toBe("b");
    expect(truncateTail("a\n\n", { lines: 1 }).text).toBe("\n");
  });

  test("with a limit of bytes a line that does not fit is omitted", () => {
    expect(truncateHead("one\ntwo\nthree\n", { bytes: 10 })).toMatchObject({ text: "one\ntwo\n", truncated: "bytes" });
    expect(truncateTail("one\ntwo\nthree\n", { bytes: 10 })).toMatchObject({
      text: "two\nthree\n",
      truncated: "bytes",
    });
    expect(truncateTail("one\ntwo\nthree\n", { bytes: 9 })).toMatchObject({ text: "three\n", insideLine: false });
  });

  test("a single line that exceeds the limit of bytes is cut inside", () => {
    expect(truncateHead("abcdef\ng", { bytes: 4 })).toMatchObject({
      text: "abcd",
      truncated: "bytes",
      insideLine: true,
      shownLines: 1,
      totalLines: 2,
    });
    expect(truncateTail("a\nbcdefg\n", { bytes: 4 })).toMatchObject({ text: "efg\n", insideLine: true, shownLines: 1 });
  });

  test("of several limits the one that leaves the least applies", () => {
    const text = "aaaa\nbbbb\ncccc\n";
    expect(truncateHead(text, { lines: 1, bytes: 11, characters: 7 })).toMatchObject({
      text: "aaaa\n",
      truncated: "lines",
    });
    expect(truncateHead(text, { lines: 3, bytes: 11, characters: 14 })).toMatchObject({
      text: "aaaa\nbbbb\n",
      truncated: "bytes",
    });
    expect(truncateHead(text, { lines: 3, bytes: 14, characters: 7 })).toMatchObject({
      text: "aaaa\nbb",
      truncated: "characters",
    });
    expect(truncateTail(text, { lines: 3, bytes: 14, characters: 7 })).toMatchObject({
      text: "b\ncccc\n",
      truncated: "characters",
    });
  });

  test("a limit of 0 leaves nothing, and Infinity is no limit", () => {
    for (const limit of [{ lines: 0 }, { bytes: 0 }, { characters: 0 }]) {
      expect(truncateHead("ab", limit)).toMatchObject({
        text: "",
        truncated: Object.keys(limit)[0],
        insideLine: false,
      });
      expect(truncateTail("ab", limit)).toMatchObject({ text: "", shownLines: 0, totalLines: 1, insideLine: false });
    }
    expect(truncateHead("ab", { lines: Infinity, bytes: Infinity, characters: Infinity }).truncated).toBe(false);
    expect(truncateTail("ab", {}).truncated).toBe(false);
  });

  test("an invalid limit is an error that contains its value", () => {
    expect(() => truncateHead("a", { bytes: -1 })).toThrow(
      new RangeError("limit of bytes: expected a number of 0 or more, got -1; leave it out for no limit"),
    );
    expect(() => truncateTail("a", { lines: Number.NaN })).toThrow(/limit of lines: .* got NaN/);
  });

  test("a fraction of a line in the limit is ignored", () => {
    expect(truncateHead("a\nb\n", { lines: 1.5 }).text).toBe("a\n");
    expect(truncateTail("abc", { characters: 1.5 }).text).toBe("c");
  });
});

describe("what is never cut", () => {
  test("a surrogate pair", () => {
    expect(truncateHead("a😀b", { bytes: 4 }).text).toBe("a");
    expect(truncateHead("a😀b", { characters: 2 }).text).toBe("a😀");
    expect(truncateTail("a😀b", { bytes: 4 }).text).toBe("b");
    expect(truncateTail("a😀b", { characters: 2 }).text).toBe("😀b");
  });

  test("a lone surrogate counts as three bytes, as in a Buffer", () => {
    expect(truncateHead("\ud800\ud800", { bytes: 5 })).toMatchObject({ text: "\ud800", shownBytes: 3, totalBytes: 6 });
  });

  test("CR LF", () => {
    expect(truncateHead("ab\r\ncd", { characters: 3 }).text).toBe("ab");
    expect(truncateTail("ab\r\ncd", { characters: 3 }).text).toBe("cd");
  });

  test.each([
    ["a colour", "\x1b[38;5;196m"],
    ["a C1 CSI", "\x9b31m"],
    ["a title up to BEL", "\x1b]0;title\x07"],
    ["a link up to ST", "\x1b]8;;https://example.org\x1b\\"],
    ["a string with a newline and a colour inside", "\x1b]0;a\n\x1b[1mb\x07"],
    ["a DCS", "\x1bPq#0\x1b\\"],
    ["an APC up to C1 ST", "\x9fGdata\x9c"],
    ["a PM and an SOS", "\x1b^private\x1b\\"],
    ["a two-character escape", "\x1b7"],
    ["a character set", "\x1b(B"],
  ])("%s", (_name, sequence) => {
    const text = `ab${sequence}cd`;
    const length = sequence.length;
    for (let kept = 0; kept <= text.length; kept += 1) {
      const head = truncateHead(text, { characters: kept }).text.length;
      const tail = truncateTail(text, { characters: kept }).text.length;
      const inside = kept > 2 && kept < 2 + length;
      expect([kept, head, tail]).toEqual([kept, inside ? 2 : kept, inside ? 2 : kept]);
    }
  });

  test("an unterminated string is plain text", () => {
    const text = `\x1b]0;${"x".repeat(50)}`;
    for (let kept = 0; kept <= text.length; kept += 1) {
      expect(truncateHead(text, { characters: kept }).text.length).toBe(kept);
      expect(truncateTail(text, { characters: kept }).text.length).toBe(kept);
    }
  });

  test("a string of more than 1 MiB is plain text, one of 1 MiB is not", () => {
    const longest = `\x1b]${"x".repeat(1_048_576 - 3)}\x07`;
    expect(truncateHead(`a${longest}b`, { characters: 100 }).text).toBe("a");
    expect(truncateTail(`a${longest}b`, { characters: 100 }).text).toBe("b");
    const longer = `\x1b]x${"x".repeat(1_048_576 - 3)}\x07`;
    expect(truncateHead(`a${longer}b`, { characters: 100 }).text.length).toBe(100);
    expect(truncateTail(`a${longer}b`, { characters: 100 }).text.length).toBe(100);
  });

  test("lines that end inside a string are removed with the string", () => {
    const text = "one\n\x1b]0;a\nb\nc\x07two\nthree\n";
    expect(truncateHead(text, { lines: 2 })).toMatchObject({ text: "one\n", truncated: "lines" });
    expect(truncateTail(text, { lines: 3 })).toMatchObject({ text: "three\n", truncated: "lines" });
    expect(truncateTail(text, { lines: 3, characters: 13 })).toMatchObject({ text: "three\n", truncated: "lines" });
  });
});

/** Pieces that are dangerous to cut, and everything around them. */
const piece = fc.oneof(
  fc.constantFrom(
    "\n",
    "\r\n",
    "\r",
    "\x1b",
    "\x07",
    "\x9c",
    "\x1b\\",
    "😀",
    "é",
    "汉",
    "\ud83d",
    "\ude00",
    "[",
    "m",
    "0;",
  ),
  fc.constantFrom(
    "\x1b[31m",
    "\x9b1;2H",
    "\x1b[?25",
    "\x1b(B",
    "\x1b7",
    "\x1b]",
    "\x1b]0;t\x07",
    "\x1bP1\n2\x1b\\",
    "\x90\x9c",
  ),
  fc.constantFrom("\x1b_a\r\nb\x9c", "\x1b]8;;u", "\x1bX\x1b[0m\x1b\\", "\x1b#8", "\x1b\x1b"),
  fc.string({ maxLength: 6 }),
);
const longLine = fc.integer({ min: 8000, max: 20_000 }).map((length) => "é😀x".repeat(length));
const wildText = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(""));
const bigText = fc
  .array(fc.oneof({ weight: 6, arbitrary: wildText }, { weight: 1, arbitrary: longLine }), { maxLength: 8 })
  .map((parts) => parts.join(""));
const small = fc.nat({ max: 40 });
const wildLimit = fc.record({ lines: fc.nat({ max: 6 }), bytes: small, characters: small }, { requiredKeys: [] });
const bigLimit = fc.record({ lines: small, bytes: fc.nat(90_000), characters: fc.nat(50_000) }, { requiredKeys: [] });

/** Finds everything that must stay together, reading from the start: independent of the local search in the code. */
const UNCUTTABLE = new RegExp(
  [
    String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^]*?(?:\x07|\x1b\\|\x9c)`,
    String.raw`(?:\x1b\[|\x9b)[\x20-\x3f]*[\x40-\x7e]`,
    String.raw`\x1b[\x20-\x2f]+[\x30-\x7e]`,
    String.raw`\x1b[0-OQ-WYZ\\\x60-~]`,
    String.raw`\r\n`,
    String.raw`[\ud800-\udbff][\udc00-\udfff]`,
  ].join("|"),
  "g",
);

function allowedCuts(text: string): number[] {
  const forbidden = new Set<number>();
  for (const { index, 0: found } of text.matchAll(UNCUTTABLE)) {
    for (let at = index + 1; at < index + found.length; at += 1) forbidden.add(at);
  }
  return Array.from({ length: text.length + 1 }, (_, at) => at).filter((at) => !forbidden.has(at));
}

function isWithin(text: string, { lines = Infinity, bytes = Infinity, characters = Infinity }: Limit): boolean {
  return countLines(text) <= lines && Buffer.byteLength(text) <= bytes && Array.from(text).length <= characters;
}

/** Finds what should be kept, by trying every cut. */
function bestCut(text: string, limit: Limit, keep: "head" | "tail"): number {
  const kept = (cut: number) => (keep === "head" ? text.slice(0, cut) : text.slice(cut));
  const best = (cuts: number[]) => (keep === "head" ? Math.max(...cuts) : Math.min(...cuts));
  const cutsFor = (one: Limit, wholeLines: boolean) => {
    const cuts = allowedCuts(text).filter((cut) => isWithin(kept(cut), one));
    if (kept(best(cuts)) === text || !wholeLines) return best(cuts);
    const atLines = cuts.filter((cut) => kept(cut) !== "" && (cut === 0 || text[cut - 1] === "\n"));
    return best(atLines.length > 0 ? atLines : cuts);
  };
  const { characters, ...others } = limit;
  const cuts = Object.entries(others).map(([kind, value]) => cutsFor({ [kind]: value }, true));
  if (characters !== undefined) cuts.push(cutsFor({ characters }, false));
  if (cuts.length === 0) return keep === "head" ? text.length : 0;
  return keep === "head" ? Math.min(...cuts) : Math.max(...cuts);
}

describe("for any text and any limit", () => {
  test("the head is as long as possible and no longer", () => {
    fc.assert(
      fc.property(wildText, wildLimit, (text, limit) => {
        expect(truncateHead(text, limit).text).toBe(text.slice(0, bestCut(text, limit, "head")));
      }),
      { numRuns: 2000 },
    );
  });

  test("the tail is as long as possible and no longer", () => {
    fc.assert(
      fc.property(wildText, wildLimit, (text, limit) => {
        expect(truncateTail(text, limit).text).toBe(text.slice(bestCut(text, limit, "tail")));
      }),
      { numRuns: 2000 },
    );
  });

  test("long texts are kept within every limit, as a prefix or a suffix that splits nothing", () => {
    fc.assert(
      fc.property(bigText, bigLimit, (text, limit) => {
        const head = truncateHead(text, limit);
        const tail = truncateTail(text, limit);
        const cuts = new Set(allowedCuts(text));
        expect(text.startsWith(head.text) && text.endsWith(tail.text)).toBe(true);
        expect(cuts.has(head.text.length) && cuts.has(text.length - tail.text.length)).toBe(true);
        expect(isWithin(head.text, limit) && isWithin(tail.text, limit)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("with a mask, no limit is exceeded after masking, and nothing that fits is cut", () => {
    const mask = (text: string) => text.replaceAll(/[a-m]/g, "[masked: NAME]");
    fc.assert(
      fc.property(wildText, wildLimit, fc.constantFrom(truncateHead, truncateTail), (text, limit, truncate) => {
        const result = truncate(text, limit, mask);
        expect(isWithin(mask(result.text), limit)).toBe(true);
        expect(truncate === truncateHead ? text.startsWith(result.text) : text.endsWith(result.text)).toBe(true);
        expect(result.truncated === false).toBe(isWithin(text, limit) && isWithin(mask(text), limit));
        expect(result.shownBytes).toBe(Buffer.byteLength(result.text));
      }),
    );
    const secrets = "a\n".repeat(1_000);
    for (const truncate of [truncateHead, truncateTail]) {
      const { text, ...result } = truncate(secrets, { bytes: 1_500 }, mask);
      expect(result).toMatchObject({ truncated: "bytes", limit: { bytes: 1_500 } });
      expect(Buffer.byteLength(mask(text))).toBeGreaterThan(1_500 * 0.98); // in whole lines of 15 bytes
    }
  });

  test("the counts are those of the texts", () => {
    fc.assert(
      fc.property(wildText, wildLimit, fc.constantFrom(truncateHead, truncateTail), (text, limit, truncate) => {
        const result = truncate(text, limit);
        expect(result.totalBytes).toBe(Buffer.byteLength(text));
        expect(result.shownBytes).toBe(Buffer.byteLength(result.text));
        expect(result.totalLines).toBe(text.match(/[^\n]*\n|[^\n]+$/g)?.length ?? 0);
        expect(result.shownLines).toBe(result.text.match(/[^\n]*\n|[^\n]+$/g)?.length ?? 0);
        expect(countCharacters(text)).toBe(Array.from(text).length);
        const hit = result.truncated;
        const isOver = hit !== false && !isWithin(text, { [hit]: limit[hit] });
        expect({ hit, isOver }).toEqual({ hit, isOver: result.text !== text });
      }),
    );
  });
});

test("strings with newlines, without end or in great number take no more time than other text", () => {
  // With quadratic work this would exceed the test's timeout.
  for (const unit of ["\x1b]\n\x07", "\x1b]\n\x1b\\", "\x9d\n\x9c", "\x1b]\n", "\x1b[\n", "\x1b[0;"]) {
    const text = unit.repeat(400_000);
    for (const all of [text, `${text}\x07`]) {
      expect(isWithin(truncateHead(all).text, { lines: 2000, bytes: 51_200 })).toBe(true);
      expect(isWithin(truncateTail(all).text, { lines: 2000, bytes: 51_200 })).toBe(true);
    }
  }
});

describe("notices", () => {
  test("name the limit and the place of the whole output", () => {
    const id = "7h2k9m4pq0rs8tvw";
    const limit = { lines: 2000, bytes: 51_200, characters: 4000 };
    expect(savedNotice({ truncated: "bytes", limit }, id)).toBe(
      `[Output truncated at 50KB. Full output saved to: output://${id}]`,
    );
    expect(savedNotice({ truncated: "lines", limit }, id)).toBe(
      `[Output truncated at 2000 lines. Full output saved to: output://${id}]`,
    );
    expect(savedNotice({ truncated: "characters", limit }, id)).toBe(
      `[Output truncated at 4000 characters. Full output saved to: output://${id}]`,
    );
    expect(savedNotice(truncateHead("a\nb", { lines: 1 }), id)).toBe(
      `[Output truncated at 1 line. Full output saved to: output://${id}]`,
    );
  });

  test("mention only what applies", () => {
    expect(savedNotice({ truncated: "bytes", limit: { bytes: 1024 } }, undefined)).toBe("[Output truncated at 1KB.]");
    expect(savedNotice({ truncated: false, limit: {} }, "x")).toBe("[Full output saved to: output://x]");
    expect(savedNotice({ truncated: false, limit: {} }, undefined)).toBe("");
    expect(savedNotice({ truncated: false, limit: {} }, "x", "/o")).toBe(
      "[Full output saved to: output://x (for commands: /o/x)]",
    );
  });

  test("name the lines shown and how to continue", () => {
    expect(rangeNotice({ first: 1, last: 2000, total: 5120, next: 2001 })).toBe(
      "[Showing lines 1-2000 of 5120. Use offset=2001 to continue.]",
    );
    expect(rangeNotice({ first: 4001, last: 5120, total: 5120 })).toBe("[Showing lines 4001-5120 of 5120.]");
  });
});
