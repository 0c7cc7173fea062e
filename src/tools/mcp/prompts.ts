import type { Client, GetPromptResult, Prompt } from "@modelcontextprotocol/client";
import type { ToolSource } from "../../core/contract/tool-source.ts";
import { partText } from "../../core/output/part-text.ts";
import type { Offering, PromptMessage } from "./offering.ts";
import { partOf } from "./content.ts";
import type { McpPrompt, McpSource } from "./server-settings.ts";

/** The prompts of all MCP servers among the sources, as `SERVER:PROMPT`, for clients of our own server. */
export function gatewayPrompts(sources: readonly ToolSource[] = []): Pick<Offering, "prompts"> {
  const servers = sources.filter((source): source is McpSource => "prompts" in source);
  if (servers.length === 0) return {};
  const promptsNow = () =>
    servers.flatMap(({ server, prompts }) => prompts().map((each) => ({ ...each, name: `${server}:${each.name}` })));
  return { prompts: promptsNow };
}

/** Does work with a live connection. Rejects with an Error for people. */
type Using = <T>(work: (client: Client) => Promise<T>, signal: AbortSignal) => Promise<T>;

/** Returns a server's listed prompts. */
export function promptsOf(server: string, listed: readonly Prompt[], using: Using): readonly McpPrompt[] {
  return listed.map(({ name, title, description, arguments: given }) => {
    const get: McpPrompt["get"] = (values, signal) =>
      using(
        async (client) => messagesOf(await client.getPrompt({ name, arguments: { ...values } }, { signal })),
        signal,
      );
    return {
      ...{ server, name, title, description, arguments: given, get },
      text: async (values, signal) => textOf(await get(values, signal)),
      complete: (argument, value, signal) =>
        using(async (client) => {
          if (client.getServerCapabilities()?.completions === undefined) return [];
          const ref = { type: "ref/prompt" as const, name };
          return (await client.complete({ ref, argument: { name: argument, value } }, { signal })).completion.values;
        }, signal),
    };
  });
}

function messagesOf({ messages }: GetPromptResult): readonly PromptMessage[] {
  return messages.map(({ role, content }) => ({ role, content: partOf(content) }));
}

/** Returns the text of a prompt as if a person had written it. Messages of the model are marked. */
function textOf(messages: readonly PromptMessage[]): string {
  return messages
    .map(({ role, content }) => (role === "assistant" ? `[You answered: ${partText(content)}]` : partText(content)))
    .join("\n\n");
}
