// An agent of Mastra. Run: node mastra.mjs
import { openai } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { mastra } from "handrail/mastra";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const hand = mastra(toolkit);
const tools = () => Object.fromEntries(hand.tools.map((each) => [each.id, createTool(each)]));
const releaser = new Agent({ id: "releaser", name: "Releaser", instructions: "", model: openai("gpt-5"), tools });
const agent = new Mastra({ agents: { releaser }, storage: new InMemoryStore() }).getAgent("releaser");

let reply = await agent.stream(PROMPT);
while (reply !== undefined) {
  let suspended;
  for await (const { type, payload } of reply.fullStream) {
    if (type === "text-delta") process.stdout.write(payload.text);
    if (type === "tool-call-suspended") suspended = payload;
  }
  if (suspended === undefined) break;
  const { name, input } = suspended.suspendPayload;
  const answer = await hand.answer(suspended.toolCallId, () => askPerson(name, input));
  reply = await agent.resumeStream(answer, { runId: reply.runId, toolCallId: suspended.toolCallId });
}

await close();
