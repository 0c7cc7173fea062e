import type {
  ContentBlock,
  SessionUpdate,
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
  ToolKind,
} from "@agentclientprotocol/sdk";
import { resolve } from "node:path";
import type { AgentEvent } from "../../agent/agent.ts";
import { type Content, text } from "../../core/contract/content.ts";
import type { EffectKind } from "../../core/contract/effect.ts";
import type { Message } from "../../core/contract/message.ts";
import type { Toolset } from "../../core/contract/toolkit.ts";
import { isRecord } from "../../core/util/record.ts";

/** What a client is told about a call, besides the call's id and status. */
export interface CallFacts {
  /** As in questions: "Run: npm test". */
  readonly title: string;
  readonly kind: ToolKind;
  readonly locations: ToolCallLocation[];
  /** The change of an edit. */
  readonly content: ToolCallContent[];
}

/** How clients show a tool, by the strongest of its effects. */
const KINDS: readonly (readonly [EffectKind, ToolKind])[] = [
  ["exec", "execute"],
  ["terminal", "execute"],
  ["write", "edit"],
  ["search", "search"],
  ["fetch", "fetch"],
  ["request", "fetch"],
  ["page", "fetch"],
  ["read", "read"],
];

const SEARCHES: ReadonlySet<string> = new Set(["grep", "find", "memory_recall"]);

/** Returns how a client shows calls of this tool. "other" for a tool that is not in the toolset. */
export function kindOf(tools: Toolset, name: string): ToolKind {
  if (SEARCHES.has(name)) return "search";
  const touches = tools.get(name)?.touches ?? [];
  return KINDS.find(([effect]) => touches.includes(effect))?.[1] ?? "other";
}

/** Returns the file that a call names, and the change if it is an edit or a new file; `workDir` is absolute. */
export function filesOf(input: string, kind: ToolKind, workDir: string): Pick<CallFacts, "locations" | "content"> {
  const given = parsed(input);
  const { path: named } = given;
  if (typeof named !== "string" || !["read", "edit"].includes(kind)) return { locations: [], content: [] };
  const path = resolve(workDir, named);
  const { offset, edits, content } = given;
  const line = typeof offset === "number" && offset >= 1 ? { line: offset } : {};
  const changes = Array.isArray(edits) ? edits : [given];
  const diffs = changes.flatMap((each): ToolCallContent[] => {
    if (!isRecord(each)) return [];
    const { old_text: oldText, new_text: newText } = each;
    return typeof oldText === "string" && typeof newText === "string" ? [{ type: "diff", path, oldText, newText }] : [];
  });
  const written: ToolCallContent[] =
    typeof content === "string" && kind === "edit" ? [{ type: "diff", path, newText: content }] : [];
  return { locations: [{ path, ...line }], content: diffs.length > 0 ? diffs : written };
}

/** Returns the update that announces a call. */
export function announcement(
  { id, name, input }: Pick<Extract<AgentEvent, { type: "tool_call" }>, "id" | "name" | "input">,
  { title, kind, locations, content }: CallFacts,
): SessionUpdate {
  const rawInput = parsed(input);
  return {
    sessionUpdate: "tool_call",
    toolCallId: id,
    name,
    title,
    kind,
    status: "pending",
    locations,
    content,
    rawInput,
  };
}

/**
 * Returns the update for an event of an agent; `undefined` for events that clients get in another way, or not at all.
 */
export function updateOf(event: AgentEvent, shown: ReadonlyMap<string, CallFacts>): SessionUpdate | undefined {
  switch (event.type) {
    case "text":
      return { sessionUpdate: "agent_message_chunk", content: textBlock(event.text) };
    case "reasoning":
      return { sessionUpdate: "agent_thought_chunk", content: textBlock(event.text) };
    case "message":
      if (event.from === "handrail") return notice("info", event.text);
      return event.offered ? { sessionUpdate: "user_message_chunk", content: textBlock(event.text) } : undefined;
    case "tool_started":
      return { sessionUpdate: "tool_call_update", toolCallId: event.id, status: "in_progress" };
    case "tool_result": {
      const { id, status, text: words } = event;
      return resultUpdate(id, status, [text(words)], shown.get(id)?.content ?? []);
    }
    case "retry":
      return notice("warning", `${event.message} Retry ${event.attempt} in ${(event.waitMs / 1_000).toFixed(1)} s.`);
    case "compacted":
      return notice("info", `The conversation was shortened from ${event.before} to ${event.after} tokens.`);
    case "starting":
      return notice("info", `Waiting for ${event.sources.join(", ")} to start.`);
    case "tool_call":
    case "tool_update":
    case "approval":
    case "usage":
    case "end":
      return undefined;
  }
}

/** Returns the updates that show a recorded message, with its calls by id. */
export function updatesOf(message: Message, facts: ReadonlyMap<string, CallFacts>): SessionUpdate[] {
  switch (message.role) {
    case "user":
      if (message.from === "handrail") return [notice("info", textIn(message.content))];
      return message.content.map((part) => ({ sessionUpdate: "user_message_chunk", content: blockOf(part) }));
    case "assistant":
      return message.content.flatMap((part): SessionUpdate[] => {
        if (part.type !== "call") {
          const sessionUpdate = part.type === "text" ? "agent_message_chunk" : "agent_thought_chunk";
          return [{ sessionUpdate, content: textBlock(part.text) }];
        }
        const about = facts.get(part.id);
        return about === undefined ? [] : [announcement(part, about)];
      });
    case "tool":
      return [resultUpdate(message.call, message.status, message.content, facts.get(message.call)?.content ?? [])];
  }
}

/** Returns a notice for people. */
export function notice(severity: "info" | "warning" | "error", title: string): SessionUpdate {
  return { sessionUpdate: "notice", severity, title };
}

function resultUpdate(
  toolCallId: string,
  status: string,
  content: readonly Content[],
  before: readonly ToolCallContent[],
): SessionUpdate {
  const ended: ToolCallStatus = status === "ok" ? "completed" : status === "parked" ? "pending" : "failed";
  const result = content.map((part): ToolCallContent => ({ type: "content", content: blockOf(part) }));
  return { sessionUpdate: "tool_call_update", toolCallId, status: ended, content: [...before, ...result] };
}

/** Converts what a person sends to content for the model. Links and embedded files are named by their URI. */
export function contentOf(block: ContentBlock): Content {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "image":
      return { type: "image", data: block.data, mimeType: block.mimeType };
    case "resource_link":
      return text(`[${block.name}](${pathOf(block.uri)})`);
    case "resource": {
      const { resource } = block;
      const uri = pathOf(resource.uri);
      return text("text" in resource ? `The file ${uri}:\n\n${resource.text}` : `[The file ${uri} is not text.]`);
    }
    case "audio":
      return text("[The message had audio, which this agent does not take.]");
  }
}

function pathOf(uri: string): string {
  return uri.startsWith("file://") && URL.canParse(uri) ? decodeURIComponent(new URL(uri).pathname) : uri;
}

function blockOf(part: Content): ContentBlock {
  if (part.type === "text") return textBlock(part.text);
  if (part.type !== "resource") return { type: part.type, data: part.data, mimeType: part.mimeType };
  const { type, ...resource } = part;
  return { type, resource };
}

function textBlock(words: string): ContentBlock {
  return { type: "text", text: words };
}

function textIn(content: readonly Content[]): string {
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The arguments of a call; `{}` if they are not an object in JSON. */
function parsed(input: string): { readonly [name: string]: unknown } {
  try {
    const value: unknown = JSON.parse(input);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
