import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteWord, quoteWords } from "../../src/util/shell.ts";

/** What no argument can hold: NUL, and half a character. */
const word = fc
  .string({ unit: "binary" })
  .map((text) => text.replaceAll("\0", ""))
  .filter((text) => !/\p{Surrogate}/u.test(text));

test("a real shell reads quoted words back as they were, whatever is in them", () => {
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
  for (const words of [...lists, wild]) {
    const script = `for w in ${quoteWords(words)}; do printf '%s\\0' "$w"; done`;
    for (const shell of ["sh", "bash"]) {
      const read = execFileSync(shell, ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
      expect(read).toEqual(words);
    }
  }
});

test("plain words stay as they are, so that people can read them", () => {
  expect(quoteWords(["npm", "run", "build:all", "--filter=@scope/a", "x.ts", "a+b%,c"])).toBe(
    "npm run build:all --filter=@scope/a x.ts a+b%,c",
  );
  expect(quoteWord("two words")).toBe("'two words'");
  expect(quoteWord("don't")).toBe(`'don'\\''t'`);
  expect(quoteWord("")).toBe("''");
});
