// Compiled by a test: the types of the adapters fit those of the SDKs, without casts.
import { type Options, query } from "@anthropic-ai/claude-agent-sdk";
import { Agent as MastraAgent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { Agent } from "@openai/agents";
import { streamText } from "ai";
import type { Toolkit } from "handrail";
import { aiSdk } from "handrail/ai-sdk";
import { claudeAgent } from "handrail/anthropic";
import { langChain } from "handrail/langchain";
import { mastra } from "handrail/mastra";
import { openAiAgents } from "handrail/openai";
import { createAgent, createMiddleware, humanInTheLoopMiddleware, tool } from "langchain";

declare const toolkit: Toolkit;
declare const model: Parameters<typeof streamText>[0]["model"];

const { tools, toolApproval } = aiSdk(toolkit);
streamText({ model, prompt: "", tools, toolApproval });

export const agent = new Agent({ name: "", tools: openAiAgents(toolkit).tools });

const { mcpServers, hooks } = claudeAgent(toolkit);
const options: Options = { mcpServers, hooks };
query({ prompt: "", options });

const { tools: defined, interruptOn, middleware } = langChain(toolkit);
createAgent({
  model: "",
  tools: defined.map(({ func, fields }) => tool(func, fields)),
  middleware: [createMiddleware(middleware(tool)), humanInTheLoopMiddleware({ interruptOn })],
});

const named = Object.fromEntries(mastra(toolkit).tools.map((each) => [each.id, createTool(each)]));
export const releaser = new MastraAgent({ id: "", name: "", instructions: "", model: "openai/gpt-5", tools: named });
