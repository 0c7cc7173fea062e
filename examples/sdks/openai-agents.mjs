// An agent of OpenAI's Agents SDK. Run: node openai-agents.mjs
import { Agent, run } from "@openai/agents";
import { openAiAgents } from "handrail/openai";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const { tools, answer } = openAiAgents(toolkit);
const agent = new Agent({ name: "releaser", model: "gpt-5", tools });
let reply = await streamed(PROMPT);
while (reply.interruptions.length > 0) {
  for (const interruption of reply.interruptions) {
    const { name, callId, arguments: input } = interruption.rawItem;
    const { approved, reason } = await answer(callId, () => askPerson(name, input));
    if (approved) reply.state.approve(interruption);
    else reply.state.reject(interruption, { message: reason });
  }
  reply = await streamed(reply.state);
}

async function streamed(input) {
  const stream = await run(agent, input, { stream: true });
  stream.toTextStream({ compatibleWithNodeStreams: true }).pipe(process.stdout);
  await stream.completed;
  return stream;
}

await close();
