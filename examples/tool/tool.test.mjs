import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { asText, createToolkit } from "handrail";
import { createAgent } from "handrail/agent";
import { scriptedModel } from "handrail/testing";
import tool from "./tool.mjs";

const workDir = await mkdtemp(join(tmpdir(), "line_count-"));
await writeFile(join(workDir, "notes.txt"), "one\ntwo\n");
const toolkit = await createToolkit({ tools: [tool], workDir, stateDir: `${workDir}-state` });
after(async () => {
  await toolkit.close();
  await rm(workDir, { recursive: true });
  await rm(`${workDir}-state`, { recursive: true, force: true });
});

test("a call does its work, as the model reads it", async () => {
  const result = await toolkit.call({ name: "line_count", input: { path: "notes.txt" } });
  assert.equal(asText(result), "notes.txt has 2 lines.");
});

test("what is wrong with a call is told to the model", async () => {
  assert.match(asText(await toolkit.call({ name: "line_count", input: {} })), /missing required parameter "path"/);
  assert.match(asText(await toolkit.call({ name: "line_count", input: { path: "none.txt" } })), /^Tool error: /);
});

test("a call outside the workspace is not made without a person", async () => {
  const result = await toolkit.call({ name: "line_count", input: { path: "/etc/shadow" } });
  assert.equal(result.status, "denied");
});

test("an agent uses it", async () => {
  const model = scriptedModel([
    { calls: [{ name: "line_count", input: { path: "notes.txt" } }] },
    { text: "Two lines." },
  ]);
  const agent = await createAgent({ model, toolkit });
  const { reason } = await agent.send("How long are my notes?");
  await agent.close();
  assert.equal(reason, "done");
});
