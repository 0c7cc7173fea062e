import { Type } from "typebox";
import type { Message } from "../core/contract/message.ts";
import { type Tool, defineTool } from "../core/contract/tool.ts";
import type { Toolset } from "../core/contract/toolkit.ts";
import { definitions } from "../core/call/definitions.ts";
import { paramsHint } from "../core/call/toolset.ts";
import { clip, plural } from "../core/util/text.ts";

/** A toolset with more tools is large. */
export const MOST_TOOLS = 40;
/** A toolset is also large when its definitions take more than this share of the model's context. */
const MOST_OF_CONTEXT = 0.1;
const CHARACTERS_A_TOKEN = 4;
/** How many tools one search finds. */
const MOST_FOUND = 10;
/** A search finds tools that fit the query at least this well, compared with the best one. */
const NEAR_BEST = 0.3;
/** How much of a tool's description a search shows, in characters. */
const SHOWN = 200;

/**
 * Holds back definitions in a large toolset: those of tools of plugins and MCP servers, until `search_tools` finds them
 * or the thread has called them. The toolkit's own tools and those of agents are never held back.
 */
export interface ToolSearch {
  /** Returns the tool that finds others; `undefined` while the toolset is not large. */
  toolFor(tools: Toolset): Tool | undefined;
  /** Returns the tools that the model is offered: another value after each change. */
  offered(tools: Toolset): Toolset;
}

/**
 * @param context the size of the model's context, in tokens
 * @param messages returns the thread's messages
 */
export function createToolSearch(context: number, messages: () => readonly Message[]): ToolSearch {
  const found = new Set<string>();
  let search: { readonly of: Toolset; readonly tool: Tool | undefined } | undefined;
  let last: { readonly of: Toolset; readonly found: number; readonly offered: Toolset } | undefined;
  let isRead = false;

  return {
    toolFor(tools) {
      if (search?.of !== tools)
        search = { of: tools, tool: isLarge(tools, context) ? toolOver(tools, found) : undefined };
      return search.tool;
    },
    offered(tools) {
      const isHolding = search?.tool !== undefined && tools.get(search.tool.name) === search.tool;
      if (!isHolding) return tools;
      if (!isRead) for (const name of calledIn(messages())) found.add(name);
      isRead = true;
      if (last?.of !== tools || last.found !== found.size) {
        const offered = [...tools].filter(([name, tool]) => !isForeign(tool) || found.has(name));
        last = { of: tools, found: found.size, offered: new Map(offered) };
      }
      return last.offered;
    },
  };
}

/** Whether the tool is one of a plugin or an MCP server. */
export function isForeign({ touches }: Pick<Tool, "touches">): boolean {
  return touches.includes("foreign");
}

function isLarge(tools: Toolset, context: number): boolean {
  if (![...tools.values()].some(isForeign)) return false;
  if (tools.size > MOST_TOOLS) return true;
  const { length } = JSON.stringify(definitions(tools, "gemini"));
  return length / CHARACTERS_A_TOKEN > context * MOST_OF_CONTEXT;
}

function calledIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => (part.type === "call" ? [part.name] : [])) : [],
  );
}

function toolOver(tools: Toolset, found: Set<string>): Tool {
  const held = [...tools.values()].filter(isForeign);
  return defineTool({
    name: "search_tools",
    title: "Search tools",
    description:
      `Find more tools by what they do. ${plural(held.length, "tool")} of ${sourcesOf(held)} are not listed. Those that ` +
      "a search finds can be called from your next reply on.",
    input: Type.Object({
      query: Type.String({ minLength: 1, description: "Words for what the tool does, or its name" }),
    }),
    touches: [],
    effects: () => [],
    async run({ query }) {
      const hits = bestFor(query, held);
      for (const { name } of hits) found.add(name);
      return hits.map((tool) => ({
        name: tool.name,
        parameters: paramsHint(tool),
        description: clip(tool.description.replaceAll(/\s+/g, " ").trim(), SHOWN),
      }));
    },
    render(hits, { query }) {
      if (hits.length > 0)
        return hits.map(({ name, parameters, description }) => `${name}(${parameters})\n  ${description}`).join("\n");
      return `No tool fits ${JSON.stringify(query)}. Try other words. There are tools of ${sourcesOf(held)}.`;
    },
  });
}

/** "github (30), linear (12), others (2)": the servers in the names of tools. */
function sourcesOf(tools: readonly Tool[]): string {
  const counts = new Map<string, number>();
  for (const { name } of tools) {
    const source = /^mcp__(.+?)__/.exec(name)?.[1] ?? "plugins";
    counts.set(source, (counts.get(source) ?? 0) + 1);
  }
  return [...counts].map(([source, count]) => `${source} (${count})`).join(", ");
}

/** The tools that fit a query, best first. A word in a tool's name counts more than one in its description. */
function bestFor(query: string, tools: readonly Tool[]): readonly Tool[] {
  const all = [...new Set(wordsIn(query))];
  const long = all.filter((word) => !/^[a-z]{1,2}$/.test(word)); // "in", "a", "to" fit everything
  const words = long.length > 0 ? long : all;
  const ranked = tools
    .map((tool) => {
      const name = `${tool.name} ${tool.title ?? ""}`;
      const points = words.reduce((sum, word) => sum + 3 * fit(word, name) + fit(word, tool.description), 0);
      return { tool, points };
    })
    .sort((one, other) => other.points - one.points)
    .slice(0, MOST_FOUND);
  const best = ranked[0]?.points ?? 0;
  return ranked.flatMap(({ tool, points }) => (points > 0 && points >= best * NEAR_BEST ? [tool] : []));
}

/** 1 for a word that is in the text, 0.5 for its beginning: "issues" fits "issue". */
function fit(word: string, text: string): number {
  const others = wordsIn(text);
  if (others.includes(word)) return 1;
  return others.some((other) => other.length > 2 && (other.startsWith(word) || word.startsWith(other))) ? 0.5 : 0;
}

/** "createIssue" and "create_issue" are two words. */
function wordsIn(text: string): readonly string[] {
  return (
    text
      .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
