// An agent of the Claude Agent SDK. Run: node claude-agent-sdk.mjs
import { query } from "@anthropic-ai/claude-agent-sdk";
import { claudeAgent } from "handrail/anthropic";
import { PROMPT, askPerson, close, toolkit } from "./shop.mjs";

const { mcpServers, hooks, refuse } = claudeAgent(toolkit);
const options = {
  ...{ mcpServers, hooks, tools: [], includePartialMessages: true, settingSources: [] },
  async canUseTool(tool, input, { toolUseID }) {
    const approved = (await askPerson(tool, input)) || (await refuse(toolUseID)).status === "closed";
    return approved
      ? { behavior: "allow", updatedInput: input }
      : { behavior: "deny", message: "A person refused it." };
  },
};
for await (const message of query({ prompt: PROMPT, options })) {
  if (message.type !== "stream_event") continue;
  const { event } = message;
  if (event.type === "content_block_delta" && event.delta.type === "text_delta") process.stdout.write(event.delta.text);
}

await close();
