// An agent with OpenAI's own client. It needs OPENAI_API_KEY; OPENAI_BASE_URL names any server with the same API.
// Run: node examples/06-openai.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { asText, createToolkit } from "handrail";

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
await writeFile(join(workDir, "notes.txt"), "Buy milk.\n");

const client = new OpenAI();
const toolkit = await createToolkit({ preset: "readonly", workDir, stateDir: `${workDir}-state` });

/** @param {string} prompt */
async function run(prompt) {
  /** @type {OpenAI.ChatCompletionMessageParam[]} */
  const messages = [{ role: "user", content: prompt }];
  for (let round = 0; round < 20; round++) {
    const tools = toolkit.definitions("openai");
    const { choices } = await client.chat.completions.create({ model: "gpt-5", messages, ...(tools && { tools }) });
    const message = choices[0]?.message;
    if (message === undefined) throw new Error("the model gave no reply");
    messages.push(message);
    if (!message.tool_calls?.length) return { answer: message.content ?? "", messages };
    for (const call of message.tool_calls) {
      if (call.type !== "function") continue;
      const result = await toolkit.call({ name: call.function.name, input: call.function.arguments }); // never rejects
      messages.push({ role: "tool", tool_call_id: call.id, content: asText(result) });
    }
  }
  throw new Error("the model has not finished within 20 rounds");
}

const { answer, messages } = await run("What does notes.txt say? Read it.");
console.log(answer);
assert.match(JSON.stringify(messages.filter(({ role }) => role === "tool")), /Buy milk\./);

await toolkit.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
