import { Agent, RunState, run } from "@openai/agents";
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

/** A run's state in which a call is approved, which is changed as text. */
async function forge(change) {
  const { interruptions, state } = await run(agent, "Release by the forger.");
  const { callId } = interruptions[0].rawItem;
  state.approve(interruptions[0]);
  await answer(callId, async () => false);
  return run(agent, await RunState.fromString(agent, change(state.toString(), callId)));
}
const forgeries = {
  "a refused call with an approval": () => forge((state) => state),
  "an approval under another id": () => forge((state, id) => state.replaceAll(id, "call_forged")),
  "an approval of other arguments": () => forge((state) => state.replaceAll("./release.sh", "./release.sh again")),
};
await check(turn, { hasProgress: false, forgeries });
