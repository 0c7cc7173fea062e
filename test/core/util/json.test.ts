import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/core/util/json.ts";

/** Where the message says that it broke, as an offset into the text. */
function offsetIn(message: string, text: string): number {
  const [, line, column] = /at line (\d+) column (\d+)/.exec(message) ?? [];
  const before = text.split("\n").slice(0, Number(line) - 1);
  return before.reduce((length, each) => length + each.length + 1, 0) + Number(column) - 1;
}

function failureOf(text: string): string {
  const parsed = parseJson(text);
  if (parsed.ok) throw new Error(`${JSON.stringify(text)} was expected to be broken`);
  return parsed.message;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Texts that are JSON, almost JSON, or nothing like it. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.json(),
  fc.json().chain((text) => fc.nat(text.length).map((end) => text.slice(0, end))),
  fc
    .array(
      fc.constantFrom(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"',
        "\\",
        "\\u12",
        "1",
        "-",
        ".",
        "e",
        "true",
        "nul",
        " ",
        "\n",
        "\0",
      ),
    )
    .map((parts) => parts.join("")),
);

describe("parseJson", () => {
  test("never throws, and accepts exactly what JSON.parse accepts", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseJson(text);
        expect(parsed.ok).toBe(isJson(text));
        if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(text));
        else expect(parsed.message).toMatch(/^[\s\S]+ at line \d+ column \d+(: the text ends there|, at "[\s\S]*")$/);
      }),
      { numRuns: 1_000 },
    );
  });

  test("a text that no continuation could fix is broken exactly where it becomes invalid", () => {
    const pretty = fc.jsonValue().map((value) => JSON.stringify(value, null, 2));
    const broken = fc
      .oneof(fc.json(), pretty)
      .chain((text) => fc.tuple(fc.constant(text), fc.nat(text.length), fc.string()));
    fc.assert(
      fc.property(broken, ([json, offset, rest]) => {
        // NUL stands nowhere in JSON, and any beginning of JSON can continue.
        const text = `${json.slice(0, offset)}\0${rest}`;
        const message = failureOf(text);
        expect(offsetIn(message, text)).toBe(offset);
        expect(message).toContain(', at "\\u0000');
      }),
      { numRuns: 500 },
    );
  });

  test("a text that only lacks its end is broken at its end", () => {
    fc.assert(
      fc.property(fc.json(), fc.double({ min: 0, max: 1, noNaN: true }), (json, share) => {
        const text = json.slice(0, Math.floor(share * json.length));
        if (isJson(text)) return;
        const message = failureOf(text);
        expect(message).toMatch(/: the text ends there$/);
        expect(offsetIn(message, text)).toBe(text.length);
      }),
    );
  });

  test.each([
    ["", "Unexpected end at line 1 column 1: the text ends there"],
    ["hello", "Unexpected token 'h' at line 1 column 1, at \"hello\""],
    ["{a: 1}", "Expected property name or '}' at line 1 column 2, at \"a: 1}\""],
    ['{"a": 1,}', 'Expected double-quoted property name at line 1 column 9, at "}"'],
    ['{"a": 1 "b": 2}', "Expected ',' or '}' after property value at line 1 column 9, at \"\\\"b\\\": 2}\""],
    [
      '{\n  "a": [1, 2\n  "b": 3\n}',
      "Expected ',' or ']' after array element at line 3 column 3, at \"\\\"b\\\": 3\\n}\"",
    ],
    ['{"a": 1} x', 'Unexpected non-whitespace character after JSON at line 1 column 10, at "x"'],
    ['{"a": "line\nbreak"}', 'Bad control character in string literal at line 1 column 12, at "\\nbreak\\"}"'],
    ['{"a": "\\x"}', 'Bad escaped character at line 1 column 9, at "x\\"}"'],
    ["{'a': 1}", "Expected property name or '}' at line 1 column 2, at \"'a': 1}\""],
    ['{"a": tru', "at line 1 column 10: the text ends there"],
    ['{"a": NaN}', "Unexpected token 'N' at line 1 column 7, at \"NaN}\""],
    ['{"n": 1.x}', 'Unterminated fractional number at line 1 column 9, at "x}"'],
    ["[-]", 'No number after minus sign at line 1 column 3, at "]"'],
    ["[1, 02]", 'at line 1 column 6, at "2]"'],
  ])("%j is told with its place", (text, message) => {
    expect(failureOf(text)).toContain(message);
  });

  test("the text is quoted in part, so that a huge text makes no huge message", () => {
    expect(failureOf(`[${"x".repeat(1_000_000)}`).length).toBeLessThan(200);
    expect(failureOf(`"${"x".repeat(1_000_000)}`).length).toBeLessThan(200);
  });

  test("deep nesting does not overflow the stack", () => {
    expect(parseJson("[".repeat(200_000)).ok).toBe(false);
    expect(parseJson(`${"[".repeat(5_000)}${"]".repeat(5_000)}`).ok).toBe(true);
  });
});
