// A saved run of OpenAI's Agents SDK that is continued twice: the approved command runs once.
// Run: node openai-agents-twice.mjs
import { Agent, RunState, run } from "@openai/agents";
import { openAiAgents } from "handrail/openai";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const agent = new Agent({ name: "releaser", model: "gpt-5", tools: openAiAgents(toolkit).tools });
const { interruptions, state } = await run(agent, PROMPT);
for (const interruption of interruptions) {
  const { name, arguments: input } = interruption.rawItem;
  if (await askPerson(name, input)) state.approve(interruption);
}

const saved = state.toString();
for (let time = 0; time < 2; time++) {
  const { finalOutput } = await run(agent, await RunState.fromString(agent, saved));
  console.log(finalOutput);
}

await close();
