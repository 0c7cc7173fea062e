import { describe, expect, test } from "vitest";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asText } from "../../src/core/call/result.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

test.each([
  "functions.read",
  "default_api.read",
  "default_api:Read",
  " read ",
  "read<|channel|>commentary",
  "functions.read_file:0",
])("the name %j calls the tool read", async (name) => {
  const toolkit = await toolkitWith({ preset: "readonly", workDir: await workspace({ "a.txt": "hello" }) });
  const result = await toolkit.call({ name, input: { path: "a.txt" } });
  expect(asText(result)).toContain("hello");
});

describe("an unknown name", () => {
  test.each([
    ["web_fetch", /is a tool of the presets "web"/],
    ["capture-pane", /is a tool of the presets? /],
    ["frobnicate", undefined],
  ])("%s is answered with the presets that have it, if there are any", async (name, hint) => {
    const toolkit = await toolkitWith({ preset: "coding" });
    const result = await toolkit.call({ name, input: {} });
    expect(result).toMatchObject({ status: "unknown-tool", name });
    const text = asText(result);
    expect(text).toMatch(/^unknown tool .*Closest: /);
    if (hint === undefined) expect(text).not.toContain("preset");
    else expect(text).toMatch(hint);
  });

  test.each(["create_issue", "github.create_issue", "github__create_issue", "createIssue"])(
    "%s is answered with the tool of the server that has it",
    async (name) => {
      const tool = (own: string) =>
        defineTool({ name: own, description: own, input: {}, touches: [], effects: () => [], run: async () => null });
      const names = ["mcp__github__create_issue", "mcp__github__list_issues", "mcp__linear__find", "create_file"];
      const toolkit = await toolkitWith({ preset: "none", tools: names.map(tool) });
      const result = await toolkit.call({ name, input: {} });
      expect(result).toMatchObject({ status: "unknown-tool" });
      expect("closest" in result && result.closest[0]).toBe("mcp__github__create_issue");
    },
  );
});

test.each<unknown>([
  undefined,
  null,
  "read",
  [],
  {},
  { input: {} },
  { name: null, input: {} },
  { name: 5, input: {} },
  { name: "ls", input: {}, id: 7, thread: null },
  { name: "x".repeat(1_000_000), input: {} },
])("a call never rejects: %.60j", async (given) => {
  const toolkit = await toolkitWith({ preset: "readonly" });
  const result = await toolkit.call(given as never);
  expect(["unknown-tool", "ok"]).toContain(result.status);
  expect(asText(result).length).toBeLessThan(2_000);
  const named = typeof given === "object" && given !== null && "name" in given && typeof given.name === "string";
  if (!named) expect(asText(result)).toMatch(/^the call names no tool\. Closest: /);
});
