import { openai } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { mastra } from "handrail/mastra";
import { check, toolkit } from "./bench.mjs";

const hand = mastra(toolkit);
const tools = () => Object.fromEntries(hand.tools.map((each) => [each.id, createTool(each)]));
const writer = new Agent({ id: "writer", name: "Writer", instructions: "", model: openai("gpt-5"), tools });
const agent = new Mastra({ agents: { writer }, storage: new InMemoryStore() }).getAgent("writer");

await check(async (prompt, ask) => {
  const parts = [];
  let reply = await agent.stream(prompt);
  for (;;) {
    let suspended;
    for await (const { type, payload } of reply.fullStream) {
      if (type === "tool-output") parts.push(payload.output.update.output);
      if (type === "tool-result") parts.push(payload.result);
      if (type === "tool-call-suspended") suspended = payload;
    }
    if (suspended === undefined) return parts;
    const answer = await hand.answer(suspended.toolCallId, ask);
    reply = await agent.resumeStream(answer, { runId: reply.runId, toolCallId: suspended.toolCallId });
  }
});
