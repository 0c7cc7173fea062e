// The demo model with the real tools, in real folders.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAgent, demoModel } from "../../src/agent/agent.ts";
import type { Approver } from "../../src/contract/policy.ts";
import { requireProgram } from "../support/here.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

const SUM = "export function add(a, b) {\n  return a - b;\n}\n";
const testOf = (sum: number) =>
  'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { add } from "./sum.mjs";\n\n' +
  `test("adds", () => {\n  assert.equal(add(2, 3), ${sum});\n});\n`;
const yes: Approver = async () => ({ answer: "once" });

/** Says these words to the demo in a folder with these files, and returns what it said and the folder. */
async function demo(
  files: { readonly [path: string]: string },
  words: readonly string[],
  { preset = "coding", rounds = 100, approver = yes }: { preset?: string; rounds?: number; approver?: Approver } = {},
): Promise<{ readonly said: string; readonly folder: string }> {
  const folder = await workspace(files);
  const toolkit = await toolkitWith({ preset, workDir: folder, approver });
  const agent = await createAgent({
    ...{ model: demoModel({ wordMs: 0 }), toolkit, limits: { rounds } },
    instructions: `- Working directory: ${toolkit.backend.workDir}`,
  });
  let said = "";
  const reading = (async () => {
    for await (const event of agent.events()) if (event.type === "text") said += event.text;
  })();
  for (const each of words) await agent.send(each);
  await agent.close();
  await reading;
  return { said, folder };
}

test.each(["coding", "assistant", "operator"])("with the tools of %s a test is repaired", async (preset) => {
  const { said, folder } = await demo({ "sum.mjs": SUM, "sum.test.mjs": testOf(5) }, ["Repair it"], { preset });
  expect(said).toContain("All tests pass now");
  expect(await readFile(join(folder, "sum.mjs"), "utf8")).toBe(SUM.replace("-", "+"));
});

test.each([
  ["readonly", "This folder has 1 entries: sum.mjs. There are no tests"],
  ["web", "I have only web_search, web_fetch here"],
  ["none", "I have no tools here"],
])("with the tools of %s it says what it can do", async (preset, expected) => {
  expect((await demo({ "sum.mjs": SUM }, ["Repair it"], { preset })).said).toContain(expected);
});

test("a test of Python is repaired", async () => {
  requireProgram("python3");
  const sums = "def add(a, b):\n    return a - b\n\n\ndef other():\n    return 1\n";
  const tests =
    "import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n" +
    "    def test_adds(self):\n        self.assertEqual(add(2, 3), 5)\n";
  const { said, folder } = await demo({ "sums.py": sums, "test_sums.py": tests }, ["Repair it"]);
  expect(said).toContain("expected 5, got -1");
  expect(await readFile(join(folder, "sums.py"), "utf8")).toBe(sums.replace("-", "+"));
  expect((await readdir(folder)).toSorted()).toEqual(["sums.py", "test_sums.py"]);
});

test("a guess that does not help is taken back, and it says so", async () => {
  const preset = "assistant";
  const { said, folder } = await demo({ "sum.mjs": SUM, "sum.test.mjs": testOf(77) }, ["Repair it"], { preset });
  expect(said).toMatch(/That was not it\..*I have taken my last guess back: sum\.mjs is as it was\./s);
  expect(await readFile(join(folder, "sum.mjs"), "utf8")).toBe(SUM);
});

test("a guess is also taken back when the tests may not run again, and named at a limit", async () => {
  const files = { "sum.mjs": SUM, "sum.test.mjs": testOf(77) };
  let questions = 0;
  const approver: Approver = async () => ({ answer: ++questions > 1 ? "refuse" : "once" });
  const refused = await demo(files, ["Repair it"], { approver });
  expect(refused.said).toMatch(/The tests could not be run: .*I have taken my last guess back/s);
  expect(await readFile(join(refused.folder, "sum.mjs"), "utf8")).toBe(SUM);
  const limited = await demo(files, ["Repair it"], { rounds: 5 });
  expect(limited.said).toContain("A guess may be left in sum.mjs: undo restores it.");
});

test("it greets, makes a practice project only when asked, and never over one that exists", async () => {
  const files = { "practice/price.mjs": "mine\n" };
  const greeted = await demo(files, ["hello"]);
  expect(greeted.said).toMatch(/^Hello! I am the demo model.*write "practice"\.$/s);
  expect(await readdir(greeted.folder)).toEqual(["practice"]);
  const approver: Approver = async (_, { reason = "" }) => ({ answer: reason.includes(".husky") ? "refuse" : "once" });
  const { said, folder } = await demo(files, ["Look", "yes"], { approver });
  expect(said).toMatch(/I make practice-2:.*The hook was not written.*\/undo shows what that takes back/s);
  expect(await readFile(join(folder, "practice/price.mjs"), "utf8")).toBe("mine\n");
  expect(await readFile(join(folder, "practice-2/price.mjs"), "utf8")).toContain("price * count");
  expect(await readdir(join(folder, "practice-2"))).not.toContain(".husky");
});
