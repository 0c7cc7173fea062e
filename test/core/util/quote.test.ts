import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteWord, quoteWords } from "../../../src/core/util/quote.ts";

/** What no argument can hold: NUL, and half a character. */
const word = fc
  .string({ unit: "binary" })
  .map((text) => text.replaceAll("\0", ""))
  .filter((text) => !/\p{Surrogate}/u.test(text));

test("a real shell reads quoted words back unchanged, with any content", () => {
  const lists = fc.sample(fc.array(word, { minLength: 1, maxLength: 6 }), 60);
  const wild = [
    "",
    "-n",
    "$(id)",
    "`id`",
    "a'b",
    "'",
    "''",
    '"',
    "\\",
    "a\nb",
    "*",
    "~",
    "~/x",
    "{a,b}",
    "#x",
    "!",
    "!!",
    "=x",
    "é",
    "\u202e",
    "a;b",
    "a=b",
    "&",
    "\t",
  ];
  const all = [...lists, wild];
  const script = all.map((words) => `for w in ${quoteWords(words)}; do printf '%s\\0' "$w"; done`).join("\n");
  for (const shell of ["sh", "bash"]) {
    const read = execFileSync(shell, ["-s"], { encoding: "utf8", input: script }).split("\0").slice(0, -1);
    expect(read).toEqual(all.flat());
  }
});

test("plain words are not quoted, so that people can read them", () => {
  expect(quoteWords(["npm", "run", "build:all", "--filter=@scope/a", "x.ts", "a+b%,c"])).toBe(
    "npm run build:all --filter=@scope/a x.ts a+b%,c",
  );
  expect(quoteWord("two words")).toBe("'two words'");
  expect(quoteWord("don't")).toBe(`'don'\\''t'`);
  expect(quoteWord("")).toBe("''");
});
