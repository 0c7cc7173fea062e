import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { type Block, endedLines, runningLines } from "../../../src/cli/chat/draw/calls.ts";
import { setColoured } from "../../../src/cli/chat/draw/paint.ts";
import { widthOf } from "../../../src/cli/chat/draw/text.ts";
import { unifiedDiff } from "../../../src/core/files/diff.ts";

const call = (given: Partial<Block>): Block => ({
  ...{ name: "bash", about: "npm test", kind: "command", sinceMs: 0, isAsked: false, output: "", message: undefined },
  ...given,
});
const EDIT = call({ name: "edit", about: "a.js", kind: "write" });
const WRITE = call({ name: "write", about: "b.js", kind: "write", content: "one\ntwo\n" });
const READ = call({ name: "read", about: "c.js", kind: "other" });
const plain = (lines: readonly string[]) => lines.map((line) => stripVTControlCharacters(line).trimEnd());
const ended = (block: Block, status: "ok" | "failed" | "denied" | "aborted", text: string, columns = 40) => {
  const { lines, rest } = endedLines(block, { status, text }, 2_100, columns);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  return { lines: plain(lines), isFolded: rest !== undefined };
};
const many = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`).join("\n");

test.each<[what: string, block: Block, status: "ok" | "failed" | "denied", text: string, lines: readonly string[]]>([
  ["a command", call({}), "ok", "done\n", ["● bash  npm test                 2.1 s", "  │ done"]],
  ["its exit code", call({}), "ok", "no\nExit code: 1", ["● bash  npm test        exit 1 · 2.1 s", "  │ no"]],
  [
    "the end of its output",
    call({}),
    "ok",
    many(9),
    [
      "● bash  npm test                 2.1 s",
      "  … 3 lines above (Ctrl-O)",
      ...[3, 4, 5, 6, 7, 8].map((at) => `  │ line ${at}`),
    ],
  ],
  [
    "what overwrote a line",
    call({}),
    "ok",
    "10%\r20%\rdone\r\n",
    ["● bash  npm test                 2.1 s", "  │ done"],
  ],
  ["a failure", READ, "failed", "not found", ["● read  c.js            failed · 2.1 s", "  │ not found"]],
  ["a refusal", call({}), "denied", "No.", ["● bash  npm test        denied · 2.1 s", "  │ No."]],
  ["what is read in one line", READ, "ok", many(9), ["● read  c.js           9 lines · 2.1 s"]],
  ["a new file", WRITE, "ok", "Created b.js (8B)", ["● write  b.js         new file · 2.1 s", "  │ one", "  │ two"]],
  [
    "the change of a file",
    EDIT,
    "ok",
    `Edited a.js\n\n${unifiedDiff("a.js", "a.js", "a\nb\n", "a\nc\n")}`,
    ["● edit  a.js             +1 −1 · 2.1 s", "  │ 1   a", "  │ 2 - b", "  │ 2 + c"],
  ],
  ["no output", call({}), "ok", "", ["● bash  npm test                 2.1 s"]],
  [
    "escape sequences as text",
    READ,
    "failed",
    "a\x1b[2Jb",
    ["● read  c.js            failed · 2.1 s", "  │ a\\x1b[2Jb"],
  ],
])("a call that has ended shows %s", (_, block, status, text, lines) => {
  expect(ended(block, status, text).lines).toEqual(lines);
});

test("what is folded or clipped can be shown whole", () => {
  expect(ended(call({}), "ok", many(6)).isFolded).toBe(false);
  expect(ended(call({}), "ok", many(7)).isFolded).toBe(true);
  expect(ended(call({}), "ok", "x".repeat(80)).isFolded).toBe(true);
  expect(ended(call({ about: "x".repeat(80) }), "ok", "")).toMatchObject({ isFolded: true });
  const { rest } = endedLines(call({ about: "a\x1b[2J" }), { status: "ok", text: many(7) }, 1, 40);
  expect(rest).toBe(`bash  a\\x1b[2J\n\n${many(7)}`);
  const long = unifiedDiff("a.js", "a.js", "", `${many(40)}\n`);
  expect(ended(EDIT, "ok", long)).toMatchObject({ isFolded: true, lines: { length: 8 } });
});

test("a call that runs shows its time and the end of its output, and one that waits says so", () => {
  const rows = (block: Block, columns = 40) => plain(runningLines(block, 14_000, columns));
  expect(rows(call({ output: many(9) }))).toEqual([
    "◌ bash  npm test                  0:14",
    ...[6, 7, 8].map((at) => `  │ line ${at}`),
  ]);
  expect(rows(call({ output: "x", message: "Waiting" }))).toEqual([
    "◌ bash  npm test                  0:14",
    "  │ Waiting",
  ]);
  expect(rows(call({ sinceMs: undefined }))).toEqual(["◌ bash  npm test               waiting"]);
  expect(rows(call({ isAsked: true }))).toEqual(["? bash  npm test                  asks"]);
  expect(rows(call({ about: "日本語".repeat(20) }))).toEqual([`◌ bash  ${"日本語".repeat(4)}… 0:14`]);
});

test("NO_COLOR draws the same text without any sequence", () => {
  setColoured(false);
  const { lines } = endedLines(EDIT, { status: "failed", text: "no" }, 10, 40);
  setColoured(true);
  expect(lines).toEqual(["● edit  a.js           failed · 0.01 s", "  │ no"]);
});
