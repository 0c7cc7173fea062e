import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { loadHighlighter, markdownStream } from "../../../src/cli/chat/draw/markdown.ts";
import { setColoured } from "../../../src/cli/chat/draw/paint.ts";
import { widthOf } from "../../../src/cli/chat/draw/text.ts";
import { cases } from "../../support/cases.ts";

beforeAll(loadHighlighter);

/** Draws a whole text. */
function markdownLines(text: string, columns: number): readonly string[] {
  const stream = markdownStream(() => columns);
  const { finished } = stream.add(text);
  return [...finished, ...stream.end()];
}

const plain = (text: string, columns = 30) => markdownLines(text, columns).map(stripVTControlCharacters);

test.each<[what: string, text: string, lines: readonly string[]]>([
  ["text, between words", "one two three four five six seven", ["one two three four five six", "seven"]],
  ["its own line breaks", "one\ntwo", ["one", "two"]],
  ["a long word whole", `see ${"x".repeat(40)} there`, ["see", "x".repeat(40), "there"]],
  ["a heading", "## What *is* it\nThis.", ["What is it", "This."]],
  [
    "a list with hanging indents",
    "- a list item that is too long to fit",
    ["- a list item that is too long", "  to fit"],
  ],
  ["nested items", "- a\n  - b\n    - c\n- d", ["- a", "  - b", "    - c", "- d"]],
  ["numbers in order", "1. a\n1. b\n\n1. c\n\nText", ["1. a", "2. b", "", "3. c", "", "Text"]],
  ["another list", "9. a\n10. b\n\n- c", ["9. a", "10. b", "", "- c"]],
  ["tasks", "- [x] a\n- [ ] b", ["- [x] a", "- [ ] b"]],
  ["code in a list", "1. a\n   ```sh\n   ls\n   ```\n2. b", ["1. a", "   ```sh", "   ls", "   ```", "2. b"]],
  [
    "code without line breaks of its own",
    `\`\`\`sh\necho ${"long ".repeat(9)}\n\`\`\`\nText`,
    ["```sh", `echo ${"long ".repeat(9)}`, "```", "Text"],
  ],
  ["code that is not closed", "```\na\n\n b", ["```", "a", "", " b"]],
  ["a fence of four ticks", "````\n```\n````", ["```", "```", "```"]],
  ["a word of code whole", `now \`${"a/".repeat(20)}\``, ["now", "a/".repeat(20)]],
  ["a quote", "> a quote of some more words than fit", ["│ a quote of some more words", "│ than fit"]],
  [
    "a table with aligned columns",
    "| Name | n |\n|---|--:|\n| a | 1 |\n| bcdefg | 100 |\n\nText",
    ["Name   │   n", "───────┼────", "a      │   1", "bcdefg │ 100", "", "Text"],
  ],
  [
    "a table with wrapped cells",
    "| File | Why |\n|---|---|\n| a.js | It reads the clock twice |\n| b.js | It does not |",
    [
      "File │ Why",
      "─────┼────────────────────────",
      "a.js │ It reads the clock",
      "     │ twice",
      "─────┼────────────────────────",
      "b.js │ It does not",
    ],
  ],
  [
    "a table that is too wide as a list",
    `| File | Why |\n|---|---|\n| ${"a/".repeat(10)} | unquestionably |`,
    [`- File: ${"a/".repeat(10)}`, "  Why: unquestionably"],
  ],
  ["wide characters", "日本語を話す人が、毎日たくさん増えている", ["日本語を話す人が、毎日たくさん", "増えている"]],
  ["Persian, with its joiners", "می\u200cخواهم", ["می\u200cخواهم"]],
  ["emoji of several characters", "👩\u200d👩\u200d👧 ❤\ufe0f", ["👩\u200d👩\u200d👧 ❤\ufe0f"]],
  ["dollars as dollars", "It costs $5 or $x^2$", ["It costs $5 or $x^2$"]],
  ["entities", "a &lt; b &amp;&amp; &#27;[31m", ["a < b && &#27;[31m"]],
  ["escape sequences as text", "a\x1b[31mb\x1b]0;c\x07\x9b1J", ["ab\\x1b]0;c\\x07\\x9b1J"]],
  ["what turns or hides text as text", "`a\u202eb` \u2066\u{e0041}", ["a\\u202eb \\u2066\\u{e0041}"]],
  ["no more than one empty line", "a\n\n\n\nb\n\n\n", ["a", "", "b"]],
  ["CR LF", "a\r\nb\r\n", ["a", "b"]],
])("draws %s", (_, text, lines) => {
  expect(plain(text)).toEqual(lines);
});

test("links are links of the terminal, and their addresses are on the screen", () => {
  const open = (url: string) => `\x1b]8;;${url}\x1b\\`;
  const [named = ""] = markdownLines("[the page](https://example.org/a_b)", 80);
  expect(named).toContain(`${open("https://example.org/a_b")}\x1b[4mthe page\x1b[0m${open("")}`);
  expect(stripVTControlCharacters(named)).toBe("the page (https://example.org/a_b)");
  expect(plain("https://example.org/é", 80)).toEqual(["https://example.org/é"]);
  expect(markdownLines("https://example.org/é", 80).join()).toContain(open("https://example.org/%C3%A9"));
});

test.each([
  "[a](javascript:alert)",
  "[a](file:///etc/passwd)",
  "[a](https://example.org/\x07\x1b]0;b\x07)",
  "[a](https://example.org/\x1b\\\x1b[2J)",
  "<https://example.org/\u202e>",
])("no link of %j can control the terminal", (text) => {
  const sequences =
    markdownLines(text, 80)
      .join("")
      .match(/\x1b(?:\][^\x1b]*\x1b\\|\[[\d;]*m)/g) ?? [];
  const left = sequences.reduce((drawn, sequence) => drawn.replace(sequence, ""), markdownLines(text, 80).join(""));
  expect(left).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/);
  expect(sequences.join("")).not.toMatch(/javascript|file:/);
});

test("headings are bold, code has colours, and NO_COLOR has neither", () => {
  const text = "# Head\n`a`\n```js\nconst a = 1; // one\n```";
  expect(markdownLines(text, 80)).toEqual([
    "\x1b[1;4mHead\x1b[0m",
    "\x1b[36ma\x1b[0m",
    "\x1b[2m```js\x1b[0m",
    "\x1b[35mconst\x1b[0m a = \x1b[33m1\x1b[0m; \x1b[2m// one\x1b[0m",
    "\x1b[2m```\x1b[0m",
  ]);
  setColoured(false);
  expect(markdownLines(text, 80)).toEqual(["# Head", "`a`", "```js", "const a = 1; // one", "```"]);
  setColoured(true);
});

describe("while it streams", () => {
  const live = (text: string, columns = 30) =>
    markdownStream(() => columns)
      .add(text)
      .live.map(stripVTControlCharacters);

  test.each<[what: string, text: string, lines: readonly string[]]>([
    ["half a table as a table", "| a | b", ["a │ b", "──┼──"]],
    ["half a rule of a table", "| a | b |\n|--", ["a │ b", "──┼──"]],
    ["half a row", "| a | b |\n|---|---|\n| 1", ["a │ b", "──┼──", "1 │"]],
    ["half a fence as nothing", "``", []],
    ["code as code", "```js\nlet a", ["let a", "```"]],
    ["half a closing fence as its end", "```js\nlet a\n``", ["let a", "```"]],
    ["half of bold text as bold", "a **b", ["a b"]],
    ["half a word of code as code", "a `b", ["a b"]],
    ["half a link as its text", "a [b](http://exa", ["a b"]],
    ["half a cluster without its joiner", "👩\u200d", ["👩"]],
    ["half a word without its joiner", "می\u200c", ["می"]],
    ["a long line of code in rows", `\`\`\`\n${"x".repeat(35)}`, ["x".repeat(30), "x".repeat(5), "```"]],
  ])("draws %s", (_, text, lines) => {
    expect(live(text).map((line) => line.trimEnd())).toEqual(lines);
  });

  test("prints what is finished of long code, a long list, a long table and a long text", () => {
    for (const text of [
      `\`\`\`\n${"a line\n".repeat(100)}`,
      "- an item\n".repeat(100),
      `| a | b |\n|---|---|\n${"| 1 | 2 |\n".repeat(100)}`,
      "some words ".repeat(200),
      `- ${"some words ".repeat(200)}`,
    ]) {
      const stream = markdownStream(() => 40);
      const { finished, live: rows } = stream.add(text);
      expect(rows.length).toBeLessThanOrEqual(20);
      expect(finished.length).toBeGreaterThan(rows.length);
    }
  });

  const full = "word word word word word word";
  test.each<[what: string, tail: string]>([
    ["emphasis", " **bold** and *more* `code`"],
    ["what would be an item at the beginning of a line", " - no item"],
    ["a number at the beginning of a line", "\n7. no item"],
    ["indented text", "\n    no code"],
    ["what would be the head of a table", " | a | b |\n|---|---|\n| 1 | 2 |"],
    ["a heading after it", "\n# Head"],
    ["a list after it", "\n\n- item"],
    ["spaces, and nothing", "   "],
    ["a break of its own", "  \nnext"],
  ])("draws %s after a long beginning as after a short one", (_, tail) => {
    const after = (rows: number) => markdownLines(`${Array(rows).fill(full).join(" ")}${tail}`, 30);
    const short = after(3);
    const long = after(400);
    expect(long.slice(-short.length)).toEqual(short);
    expect(new Set(long.slice(0, -short.length))).toEqual(new Set([full]));
  });

  test.each<[what: string, text: string]>([
    ["words", "some words and `code` and **bold** words ".repeat(2_000)],
    ["marks that nothing closes", "an *open word ".repeat(1_000)],
    ["lines", "a line of some words\n".repeat(3_000)],
    ["quoted lines", "> a line of some words\n".repeat(1_000)],
    ["one word", "x".repeat(300_000)],
  ])("of a long text of %s, only a short end is drawn again", (_, text) => {
    const stream = markdownStream(() => 40);
    const lines: string[] = [];
    for (let at = 0; at < text.length; at += 999) {
      const drawn = stream.add(text.slice(at, at + 999));
      lines.push(...drawn.finished);
      if (at % 30 === 0) expect(drawn.live.join("").length).toBeLessThan(90_000);
    }
    const words = [...lines, ...stream.end()]
      .map(stripVTControlCharacters)
      .join(" ")
      .replaceAll(/[│\s]+/g, " ");
    const bare = (each: string) => each.replaceAll(/[*`>\s]/g, "");
    expect(bare(words)).toBe(bare(text));
  });

  test("a long text loses no word when the window changes", () => {
    let columns = 40;
    const stream = markdownStream(() => columns);
    const text = Array.from({ length: 400 }, (_, at) => `word${at}`).join(" ");
    const before = stream.add(text.slice(0, 2_000)).finished;
    columns = 20;
    const lines = [...before, ...stream.add(text.slice(2_000)).finished, ...stream.end()];
    expect(lines.join(" ")).toBe(text);
  });

  const PIECES = [
    ..."abc \n\n\n*_`#|-1.>[]()~:\\\t\r".split(""),
    ...["```", "```js\n", "- ", "1. ", "  ", "| a | b |\n", "|---|---|\n", "# ", "> ", "**", "](http://a.b)", "<br>"],
    ...["word ".repeat(30), "日本語", "👩\u200d👩\u200d👧", "می\u200cخواهم", "❤\ufe0f", "\x1b[31m", "\u202e", "\ud83d"],
  ];

  test("in whatever pieces a text comes, its final lines are the same, and no live row is too wide", () => {
    const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 80 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 1_000 })), fc.integer({ min: 20, max: 80 }), (whole, cuts, columns) => {
        const ends = [...cuts.map((at) => at % (whole.length + 1)).toSorted((a, b) => a - b), whole.length];
        const stream = markdownStream(() => columns);
        const lines: string[] = [];
        ends.forEach((end, at) => {
          const { finished, live: rows } = stream.add(whole.slice(ends[at - 1] ?? 0, end));
          lines.push(...finished);
          for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns);
        });
        lines.push(...stream.end());
        expect(lines).toEqual(markdownLines(whole, columns));
        expect(lines.join("")).not.toMatch(/[\n\r\u202e]/);
      }),
      { numRuns: cases(300) },
    );
  });
});
