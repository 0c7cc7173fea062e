// Compiled by a test: the types of the adapters fit those of the SDKs, without casts.
import { Agent } from "@openai/agents";
import { streamText } from "ai";
import { aiSdk } from "handrail/ai-sdk";
import { openAiAgents } from "handrail/openai";
import type { Toolkit } from "handrail";

declare const toolkit: Toolkit;
declare const model: Parameters<typeof streamText>[0]["model"];

const { tools, toolApproval } = aiSdk(toolkit);
streamText({ model, prompt: "", tools, toolApproval });

export const agent = new Agent({ name: "", tools: openAiAgents(toolkit).tools });
