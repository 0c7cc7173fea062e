import { describe, expect, test } from "vitest";
import { buildInstructions } from "../../src/agent/instructions.ts";
import type { Tool } from "../../src/core/contract/tool.ts";
import type { ToolSource } from "../../src/core/contract/tool-source.ts";
import { memoryStore } from "../../src/record/activity/memory-store.ts";
import { foreignTool } from "../../src/core/call/foreign-tool.ts";
import type { ScriptedModel } from "../suites/scripted-model.ts";
import { calls, looking, resultsIn, scripted } from "./support.ts";

/** An MCP server with this many tools. The last one creates issues. */
function server(name: string, count: number, description = "Does a thing."): ToolSource {
  const tools = Array.from({ length: count }, (_, index) => {
    const isLast = index === count - 1;
    return foreignTool({
      ...{ from: `mcp:${name}`, tool: isLast ? "create_issue" : `thing_${index}` },
      name: `mcp__${name}__${isLast ? "create_issue" : `thing_${index}`}`,
      description: isLast ? "Opens an issue in a repository." : description,
      schema: { type: "object", properties: { title: { type: "string" } } },
      run: async () => "done",
    });
  });
  return { name: `mcp:${name}`, start: async ({ set }) => set(tools), close: async () => {} };
}

const offeredTo = ({ requests }: ScriptedModel, round: number) => requests[round]?.tools?.map(({ name }) => name) ?? [];
const own: readonly Tool[] = [looking("look", async () => "seen")];
const allowed = { policy: { autonomy: "full" as const } };

describe("in a large toolset", () => {
  test("tools of servers are offered when a search has found them, and the toolkit's own always", async () => {
    const { agent, model, toolkit } = await scripted(
      [
        calls({ name: "search_tools", input: { query: "open issues in a repo" }, id: "a" }),
        calls({ name: "mcp__github__create_issue", input: { title: "Broken" }, id: "b" }),
      ],
      { toolkit: { tools: own, sources: [server("github", 30), server("linear", 20)], ...allowed } },
    );
    const before = agent.context().tools;
    await agent.send("Report it.");
    expect(offeredTo(model, 0)).toEqual(["look", "search_tools"]);
    expect(model.requests[0]?.tools?.at(-1)).toMatchObject({
      description: expect.stringContaining("50 tools of github (30), linear (20) are not listed") as string,
    });
    expect(offeredTo(model, 1)).toEqual([
      ...["look", "mcp__github__create_issue", "mcp__linear__create_issue", "search_tools"],
    ]);
    const results = resultsIn(model.requests.at(-1)!);
    expect(results["a"]).toContain("mcp__github__create_issue(title)\n  Opens an issue in a repository.");
    expect(results["b"]).toContain("done");
    expect(agent.context().tools).toBeGreaterThan(before);
    expect(await buildInstructions(toolkit)).toContain("Tools: look, 50 of plugins and MCP servers\n");
  });

  test("a search that finds nothing says what there is", async () => {
    const script = [calls({ name: "search_tools", input: { query: "weather" }, id: "a" })];
    const { agent, model } = await scripted(script, { toolkit: { sources: [server("github", 41)] } });
    await agent.send("Will it rain?");
    expect(resultsIn(model.requests[1]!)["a"]).toBe(
      'No tool fits "weather". Try other words. There are tools of github (41).',
    );
  });

  test("a tool that the thread has called is offered when the thread continues", async () => {
    const store = memoryStore();
    const toolkit = { sources: [server("github", 41)], store, ...allowed };
    const first = await scripted([calls({ name: "mcp__github__thing_7" })], { toolkit, thread: "t" });
    await first.agent.send("Do the thing."); // known by its name, it also runs without a search
    const { agent, model } = await scripted([], {
      toolkit: { ...toolkit, sources: [server("github", 41)] },
      thread: "t",
    });
    await agent.send("Again.");
    expect(offeredTo(model, 0)).toEqual(["mcp__github__thing_7", "search_tools"]);
  });
});

test("definitions of more than a tenth of the context are held back too", async () => {
  const sources = [server("docs", 5, "Explains. ".repeat(200))];
  const { agent, model } = await scripted([], { toolkit: { tools: own, sources }, limits: { context: 20_000 } });
  await agent.send("Hello.");
  expect(offeredTo(model, 0)).toEqual(["look", "search_tools"]);
});

test.each([
  ["a small toolset", { toolkit: { tools: own, sources: [server("github", 30)] } }, 31],
  ["a large toolset without tools of others", { toolkit: { tools: many(60) } }, 60],
  ["an agent without search_tools", { toolkit: { sources: [server("github", 60)] }, disable: ["search_tools"] }, 60],
])("nothing is held back in %s", async (_, options, count) => {
  const { agent, model } = await scripted([], options);
  await agent.send("Hello.");
  expect(offeredTo(model, 0)).toHaveLength(count);
  expect(offeredTo(model, 0)).not.toContain("search_tools");
});

function many(count: number): readonly Tool[] {
  return Array.from({ length: count }, (_, index) => looking(`tool_${index}`, async () => "seen"));
}
