import type { Transport } from "@modelcontextprotocol/client";
import { oneLine } from "../../output/terminal-text.ts";

/** How many characters of a tool's name are shown. */
const SHOWN = 80;

/**
 * Removes the tools that violate the protocol from what a server lists, before the SDK reads it: the SDK would refuse
 * the whole list. `leftOut` is called with the end of a sentence for each. Call it before the transport is used.
 */
export async function leaveOutBadTools(transport: Transport, leftOut: (words: string) => void): Promise<void> {
  const { specTypeSchemas } = await import("@modelcontextprotocol/client");
  const isTool = (tool: unknown): boolean => {
    const checked = specTypeSchemas.Tool["~standard"].validate(tool);
    if (checked instanceof Promise || checked.issues === undefined) return true;
    const [issue] = checked.issues;
    const at = (issue?.path ?? []).map(String).join(".");
    leftOut(
      `the tool ${nameOf(tool)} is left out: ${at === "" ? "" : `${at}: `}${issue?.message ?? "it is not valid"}.`,
    );
    return false;
  };
  type Handler = NonNullable<Transport["onmessage"]>;
  let handler: Handler | undefined;
  const filtered: Handler = (message, extra) => {
    const result = "result" in message ? message.result : undefined;
    const tools: unknown = result?.["tools"];
    handler?.(
      Array.isArray(tools) ? { ...message, result: { ...result, tools: tools.filter(isTool) } } : message,
      extra,
    );
  };
  Object.defineProperty(transport, "onmessage", {
    get: () => (handler === undefined ? undefined : filtered),
    set(given: Handler | undefined) {
      handler = given;
    },
  });
}

function nameOf(tool: unknown): string {
  const isNamed = typeof tool === "object" && tool !== null && "name" in tool && typeof tool.name === "string";
  return isNamed ? oneLine(JSON.stringify(tool.name), SHOWN) : "without a name";
}
