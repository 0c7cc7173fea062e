// An agent with OpenAI's own client. It needs OPENAI_API_KEY; OPENAI_BASE_URL names any server with the same API.
// Run: node examples/06-openai.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { createToolkit } from "handrail";
import { openAi } from "handrail/openai";

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
await writeFile(join(workDir, "notes.txt"), "Buy milk.\n");

const client = new OpenAI();
const toolkit = await createToolkit({ preset: "readonly", workDir, stateDir: `${workDir}-state` });
const hand = openAi(toolkit);

/** @param {string} prompt */
async function run(prompt) {
  /** @type {OpenAI.ChatCompletionMessageParam[]} */
  const messages = [{ role: "user", content: prompt }];
  for (let round = 0; round < 20; round++) {
    const tools = hand.chatTools;
    const { choices } = await client.chat.completions.create({ model: "gpt-5", messages, ...(tools && { tools }) });
    const message = choices[0]?.message;
    if (message === undefined) throw new Error("the model gave no reply");
    messages.push(message);
    if (!message.tool_calls?.length) return { answer: message.content ?? "", messages };
    messages.push(...(await hand.chatResults(message))); // a result for each call, whatever happens
  }
  throw new Error("the model has not finished within 20 rounds");
}

const { answer, messages } = await run("What does notes.txt say? Read it.");
console.log(answer);
assert.match(JSON.stringify(messages.filter(({ role }) => role === "tool")), /Buy milk\./);

await toolkit.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
