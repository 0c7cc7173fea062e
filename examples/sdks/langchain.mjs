// An agent of LangChain. Run: node langchain.mjs
import { Command, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { langChain } from "handrail/langchain";
import { createAgent, humanInTheLoopMiddleware, tool } from "langchain";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const { tools, interruptOn, answer } = langChain(toolkit);
const agent = createAgent({
  model: new ChatOpenAI({ model: "gpt-5", useResponsesApi: true }),
  tools: tools.map(({ func, fields }) => tool(func, fields)),
  middleware: [humanInTheLoopMiddleware({ interruptOn })],
  checkpointer: new MemorySaver(),
});
const options = { configurable: { thread_id: "release" }, streamMode: ["messages", "updates"] };
let next = { messages: [{ role: "user", content: PROMPT }] };
while (next !== undefined) {
  let calls = [];
  let interrupt;
  for await (const [mode, part] of await agent.stream(next, options)) {
    if (mode === "messages") process.stdout.write(part[0].type === "ai" ? part[0].text : "");
    else if ("__interrupt__" in part) interrupt = part.__interrupt__[0];
    else calls = part.model_request?.messages.at(-1).tool_calls ?? calls;
  }
  next = interrupt && new Command({ resume: { decisions: await decide(interrupt.value.actionRequests, calls) } });
}

/** The middleware asks about several calls at once. Their ids are in the model's reply. */
async function decide(requests, calls) {
  const decisions = [];
  for (const { name, args } of requests) {
    const { id } = calls.find((call) => call.name === name && call.args === args);
    const { approved, reason } = await answer(id, () => askPerson(name, args));
    decisions.push(approved ? { type: "approve" } : { type: "reject", message: reason });
  }
  return decisions;
}

await close();
