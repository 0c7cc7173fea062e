/**
 * The agent's loop: its overhead per call compared with the AI SDK's own loop, from the model's last token to the tool,
 * and its start.
 */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { createToolkit, defineTool } from "../../dist/index.js";
import { createAgent } from "../../dist/agent.js";
import { scriptedModel } from "../../dist/testing.js";

const CALLS = 200;
const input = { type: "object", properties: { value: { type: "string" } } };
const rounds = Array.from({ length: CALLS }, () => ({ calls: [{ name: "noop", input: { value: "x" } }] }));

/** @type {readonly import("./shared.mjs").Workload[]} */
export const AGENT = [
  {
    name: "agent-call",
    what: "a round of a model that calls a tool which does nothing, beside the AI SDK's own loop",
    target: { text: "<= 2 ms more", met: ({ ours }) => ours <= 2 },
    async prepare(folder) {
      const { toolkit, run } = await toolkitIn(folder);
      return {
        ours: () => run(),
        peer: async () => {
          const execute = async () => "ok";
          const tools = { noop: tool({ inputSchema: jsonSchema(input), execute }) };
          const model = scriptedModel(rounds);
          await streamText({ model, tools, prompt: "Go", stopWhen: stepCountIs(CALLS + 2) }).consumeStream();
        },
        cleanUp: () => toolkit.close(),
      };
    },
    scale: 1 / CALLS,
    rounds: 3,
  },
  {
    name: "agent-tool-start",
    what: "from the end of the model's reply to the start of the tool",
    target: { text: "<= 2 ms", met: ({ ours }) => ours <= 2 },
    async prepare(folder) {
      const times = [];
      const { toolkit, run, replied } = await toolkitIn(folder, () => times.push(performance.now() - replied.at));
      return {
        ours: async () => {
          times.length = 0;
          await run();
          return times.toSorted((one, other) => one - other)[times.length >> 1] ?? 0;
        },
        measuresItself: true,
        cleanUp: () => toolkit.close(),
      };
    },
    rounds: 3,
  },
];

/**
 * @param {string} folder
 * @param {() => void} [onStart]
 */
async function toolkitIn(folder, onStart = () => {}) {
  const noop = defineTool({
    name: "noop",
    description: "Nothing",
    touches: [],
    input,
    effects: () => [],
    run: async () => {
      onStart();
      return "ok";
    },
  });
  const toolkit = await createToolkit({ preset: "none", tools: [noop], stateDir: mkdtempSync(join(folder, "agent-")) });
  const replied = { at: 0 };
  const run = async () => {
    const model = scriptedModel(rounds);
    const doStream = model.doStream.bind(model);
    model.doStream = async (options) => {
      const { stream } = await doStream(options);
      const noting = new TransformStream({ flush: () => void (replied.at = performance.now()) });
      return { stream: stream.pipeThrough(noting) };
    };
    const agent = await createAgent({ model, toolkit, limits: { rounds: CALLS + 2, context: 10_000_000 } });
    const end = await agent.send("Go");
    if (end.reason !== "done") throw new Error(`the turn ended as ${end.reason}: ${end.message}`);
    await agent.close();
  };
  return { toolkit, run, replied };
}
