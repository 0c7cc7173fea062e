// The demo model with the real tools, in real folders.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createAgent, demoModel } from "../../src/agent/agent.ts";
import type { Approver } from "../../src/core/contract/policy.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

const yes: Approver = async () => ({ answer: "once" });

/** Says these words to the demo in a folder with these files, and returns what it said and the folder. */
async function demo(
  files: { readonly [path: string]: string },
  words: readonly string[],
  { preset = "coding", approver = yes }: { preset?: string; approver?: Approver } = {},
): Promise<{ readonly said: string; readonly folder: string }> {
  const folder = await workspace(files);
  const toolkit = await toolkitWith({ preset, workDir: folder, approver });
  const agent = await createAgent({ model: demoModel({ wordMs: 0 }), toolkit });
  let said = "";
  const reading = (async () => {
    for await (const event of agent.events()) if (event.type === "text") said += event.text;
  })();
  for (const each of words) await agent.send(each);
  await agent.close();
  await reading;
  return { said, folder };
}

test.each([
  ["readonly", "This folder has 2 entries: README.md, sum.mjs. README.md begins: # Sums"],
  ["web", "I have only web_search, web_fetch here"],
  ["none", "I have no tools here"],
])("with the tools of %s it says what it can do", async (preset, expected) => {
  expect((await demo({ "sum.mjs": "", "README.md": "# Sums\n" }, ["Look around"], { preset })).said).toContain(
    expected,
  );
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
