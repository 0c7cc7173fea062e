// An agent with Anthropic's own client. It needs ANTHROPIC_API_KEY.
// Run: node examples/07-anthropic.mjs
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { createToolkit } from "handrail";
import { anthropic } from "handrail/anthropic";

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));

const client = new Anthropic();
const toolkit = await createToolkit({ preset: "coding", workDir, stateDir: `${workDir}-state` });
const hand = anthropic(toolkit);

/** @param {string} prompt */
async function run(prompt) {
  /** @type {Anthropic.MessageParam[]} */
  const messages = [{ role: "user", content: prompt }];
  for (let round = 0; round < 20; round++) {
    const { tools } = hand;
    const reply = await client.messages.create({
      ...{ model: "claude-sonnet-4-5", max_tokens: 4096, messages },
      ...(tools && { tools }),
    });
    messages.push({ role: "assistant", content: reply.content });
    if (reply.stop_reason !== "tool_use") return reply.content;
    messages.push({ role: "user", content: await hand.results(reply) });
  }
  throw new Error("the model has not finished within 20 rounds");
}

const answer = await run("Write the word hello to hello.txt.");
console.log(answer.map((block) => (block.type === "text" ? block.text : "")).join(""));
assert.match(await readFile(join(workDir, "hello.txt"), "utf8"), /hello/i);

await toolkit.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
