import { Agent, run } from "@openai/agents";
import { openAiAgents } from "handrail/openai";
import { check, toolkit } from "./bench.mjs";

const { tools, answer } = openAiAgents(toolkit);
const agent = new Agent({ name: "writer", model: "gpt-5", tools });

const turn = async (prompt, ask) => {
  let reply = await run(agent, prompt);
  while (reply.interruptions.length > 0) {
    for (const interruption of reply.interruptions) {
      const { approved, reason } = await answer(interruption.rawItem.callId, ask);
      if (approved) reply.state.approve(interruption);
      else reply.state.reject(interruption, { message: reason });
    }
    reply = await run(agent, reply.state);
  }
  return [];
};
await check(turn, { hasProgress: false });
