import type { GetPromptResult } from "@modelcontextprotocol/client";
import { partOf } from "./content.ts";

/** Returns the text of a prompt as if a person had written it. Messages of the model are marked. */
export function promptText({ messages }: GetPromptResult): string {
  return messages
    .map(({ role, content }) => {
      const part = partOf(content);
      const words = part.type === "text" ? part.text : `[${part.mimeType}]`;
      return role === "assistant" ? `[You answered: ${words}]` : words;
    })
    .join("\n\n");
}
