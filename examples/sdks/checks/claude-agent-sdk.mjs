import { query } from "@anthropic-ai/claude-agent-sdk";
import { claudeAgent } from "handrail/anthropic";
import { check, toolkit } from "./bench.mjs";

const turn = async (prompt, ask) => {
  const { mcpServers, hooks, answer } = claudeAgent(toolkit);
  const options = {
    ...{ mcpServers, hooks, tools: [], settingSources: [] },
    async canUseTool(_, input, { toolUseID }) {
      const { approved, reason } = await answer(toolUseID, ask);
      return approved ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: reason };
    },
  };
  for await (const message of query({ prompt, options })) if (message.type === "result") return [];
};
await check(turn, { times: 3, hasProgress: false });
