// An agent of the AI SDK (version 6) with one call that a person approves. It needs OPENAI_API_KEY.
// Run: node examples/10-ai-sdk.mjs
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openai } from "@ai-sdk/openai";
import { stepCountIs, streamText } from "ai";
import { createToolkit } from "handrail";
import { aiSdk } from "handrail/ai-sdk";

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
await writeFile(join(workDir, "release.sh"), "#!/bin/sh\necho released >> releases.txt\n", { mode: 0o755 });
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
await writeFile(join(workDir, "logo.png"), Buffer.from(dot, "base64"));

const toolkit = await createToolkit({
  ...{ preset: "coding", workDir, stateDir: `${workDir}-state` },
  policy: { commands: { ask: ["./release.sh"] } },
});
const { tools, answer } = aiSdk(toolkit);

/** @type {import("ai").ModelMessage[]} */
const messages = [{ role: "user", content: "Look at logo.png, then make a release with ./release.sh." }];
for (let isWaiting = true; isWaiting;) {
  const reply = streamText({ model: openai("gpt-5-mini"), tools, messages, stopWhen: stepCountIs(20) });
  /** @type {import("ai").ToolApprovalResponse[]} */
  const answers = [];
  for await (const part of reply.fullStream) {
    if (part.type === "text-delta") process.stdout.write(part.text);
    if (part.type !== "tool-approval-request") continue;
    const { toolName, toolCallId, input } = part.toolCall;
    // The first answer counts: this one, or one that is given in the console.
    const { approved, reason } = await answer(toolCallId, () => askPerson(toolName, input));
    answers.push({ type: "tool-approval-response", approvalId: part.approvalId, approved, reason });
  }
  messages.push(...(await reply.response).messages);
  if (answers.length > 0) messages.push({ role: "tool", content: answers });
  isWaiting = answers.length > 0;
}

/** Your application asks here. This one agrees to what it expects. */
async function askPerson(/** @type {string} */ tool, /** @type {unknown} */ input) {
  return tool === "bash" && JSON.stringify(input).includes('"./release.sh"');
}

assert.equal(await readFile(join(workDir, "releases.txt"), "utf8"), "released\n");
await toolkit.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
