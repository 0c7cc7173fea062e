// An agent of the Claude Agent SDK. Run: node claude-agent-sdk.mjs
import { query } from "@anthropic-ai/claude-agent-sdk";
import { claudeAgent } from "handrail/anthropic";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const { mcpServers, hooks, answer } = claudeAgent(toolkit);
const options = {
  ...{ mcpServers, hooks, tools: [], includePartialMessages: true, settingSources: [] },
  async canUseTool(tool, input, { toolUseID }) {
    const { approved, reason } = await answer(toolUseID, () => askPerson(tool, input));
    return approved ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: reason };
  },
};
for await (const message of query({ prompt: PROMPT, options })) {
  if (message.type !== "stream_event") continue;
  const { event } = message;
  if (event.type === "content_block_delta" && event.delta.type === "text_delta") process.stdout.write(event.delta.text);
}

await close();
