// The messages on docs/errors.md are those that the program has: each part between two `…` stands in the source.
import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { PAGES, root } from "./pages.ts";

const messages = [...(PAGES.get("docs/errors.md") ?? "").matchAll(/^\| (`` .*? ``|`[^`]+`) \|/gm)].map(
  ([, code = ""]) => code.replaceAll(/^`+ ?| ?`+$/g, ""),
);

/** The texts of each file of src, as they are put together: without the quotes and plus signs inside of a sentence. */
const sources = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({
    file,
    text: readFileSync(`${root}src/${file}`, "utf8")
      .replaceAll(/["'`]\s*\+\s*["'`]/g, "")
      .replaceAll("\\`", "`")
      .replaceAll('\\"', '"'),
  }));

test("each message of the page stands in a file of the source", () => {
  expect(messages.length).toBeGreaterThan(80);
  const unknown = messages.filter((message) => {
    const parts = message.split("…").map((part) => part.trim());
    return !sources.some(({ text }) => parts.every((part) => text.includes(part)));
  });
  expect(unknown).toEqual([]);
});

test("no message is on the page twice", () => {
  expect(messages.filter((message, index) => messages.indexOf(message) !== index)).toEqual([]);
});
