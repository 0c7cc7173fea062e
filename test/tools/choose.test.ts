import { describe, expect, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asText } from "../../src/core/call/result.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import { BUILT_IN } from "../../src/tools/presets/built-in.ts";
import { chosenTools } from "../../src/tools/presets/choose.ts";
import { PRESETS } from "../../src/tools/presets/presets.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

const mine = defineTool({
  name: "mine",
  description: "Mine.",
  input: {},
  touches: [],
  effects: () => [],
  run: async () => 1,
});
const names = (choice: Parameters<typeof chosenTools>[0]) => chosenTools(choice).map(({ name }) => name);

describe("tools are chosen", () => {
  test("by a user's toolset, in its order, each once", () => {
    expect(names({ preset: "look", toolsets: { look: ["ls", "read", "ls"] } })).toEqual(["ls", "read"]);
    expect(names({ preset: "constructor", toolsets: { constructor: ["ls"] } })).toEqual(["ls"]);
    expect(names({ preset: "empty", toolsets: { empty: [] }, tools: [mine] })).toEqual(["mine"]);
  });

  test("a user's tool that toolsets name is only in those toolsets", () => {
    const toolsets = { tasks: ["mine", "ls"], mixed: ["ls", "mine", "read"], look: ["ls"] };
    expect(names({ preset: "tasks", toolsets, tools: [mine] })).toEqual(["mine", "ls"]);
    expect(names({ preset: "mixed", toolsets, tools: [mine] })).toEqual(["ls", "mine", "read"]);
    expect(names({ preset: "look", toolsets, tools: [mine] })).toEqual(["ls"]);
    expect(
      names({ preset: "tasks", toolsets: { tasks: ["mine", "ls"] }, tools: [{ ...mine, name: "ls" }, mine] }),
    ).toEqual(["mine", "ls"]);
    expect(() => names({ preset: "tasks", toolsets })).toThrow('there is no tool "mine"');
  });

  test.each([
    ["coding", "read bash edit write jobs"],
    ["readonly", "read grep find ls"],
    ["web", "web_search web_fetch"],
    ["workspace", "read write edit bash grep find ls jobs"],
    ["none", ""],
  ])("by the preset %s: %s", (preset, tools) => {
    expect(names({ preset }).join(" ")).toBe(tools);
  });

  test("default, and assistant, which has memory, schedules and the web too", () => {
    expect(names({ preset: "default" })).toEqual(["shell", "file_read", "file_write"]);
    const memory = ["memory_store", "memory_recall", "memory_forget"];
    const more = [...memory, "cron_add", "cron_list", "cron_remove", "http_request", "web_fetch", "browser"];
    expect(names({ preset: "assistant" })).toEqual([...names({ preset: "default" }), ...more]);
  });

  test("without disabled ones, also the user's own", () => {
    expect(names({ disable: ["bash", "ls"] })).toEqual(["read", "edit", "write", "jobs"]);
    expect(names({ preset: "readonly", tools: [mine], disable: ["mine", "grep"] })).toEqual(["read", "find", "ls"]);
  });

  test.for([
    [
      "no preset",
      { preset: "mien", toolsets: { mine: ["read"] } },
      /^no preset "mien": expected one of coding, .*none, mine$/,
    ],
    ["a preset's name", { toolsets: { coding: ["read"] } }, /^toolsets: "coding" is the name of a preset/],
    ["no tool", { preset: "x", toolsets: { x: ["raed"] } }, /^toolset "x": there is no tool "raed"/],
    [
      "no tool of every object's names",
      { preset: "x", toolsets: { x: ["valueOf"] } },
      /^toolset "x": there is no tool "valueOf"/,
    ],
    ["no tool to disable", { disable: ["bsh"] }, /^disable: there is no tool "bsh"/],
  ] as const)("but not where there is %s", ([, choice, message]) => {
    expect(() => chosenTools(choice)).toThrow(message);
  });

  test("under the names in the list", () => {
    for (const [name, make] of Object.entries(BUILT_IN)) expect(make({}).name).toBe(name);
    const second = ["shell", "run_shell", "read_file", "write_file", "file_read", "file_write", "fetch_url"];
    const once = Object.keys(BUILT_IN).filter((name) => !second.includes(name));
    expect(PRESETS.all().map(({ name }) => name)).toEqual(once);
  });
});

describe("options of single tools", () => {
  test("reach every preset and toolset that has the tool", async () => {
    const workDir = await workspace({ "a.txt": "x\nx\nx\n", "b.txt": "x\n" });
    const toolOptions = { grep: { maxResults: 2 }, find: { maxResults: 1 } };
    for (const choice of [
      { preset: "readonly" },
      { preset: "all" },
      { preset: "my", toolsets: { my: ["find", "grep"] } },
    ]) {
      const toolkit = await toolkitWith({ workDir, toolOptions, ...choice });
      expect(asText(await toolkit.call({ name: "grep", input: { pattern: "x" } }))).toContain("Stopped at 2 matches");
      expect(asText(await toolkit.call({ name: "find", input: {} }))).toBe(
        "a.txt\n\n[Showing 1 of 2. Use a narrower path or pattern, or a larger max_results.]",
      );
      expect(asText(await toolkit.call({ name: "find", input: { max_results: 2 } }))).toBe("a.txt\nb.txt");
      expect(JSON.stringify(toolkit.definitions("json"))).toContain("Matches shown (default: 2)");
    }
  });
});

describe("variables that are passed", () => {
  test("reach commands, and others do not", async () => {
    process.env["HANDRAIL_TEST_PASSED"] = "yes";
    process.env["HANDRAIL_TEST_KEPT"] = "no";
    const toolkit = await toolkitWith({
      workDir: await workspace(),
      passEnv: ["HANDRAIL_TEST_PASSED"],
      policy: { autonomy: "full" },
    });
    const command = 'echo "[$HANDRAIL_TEST_PASSED$HANDRAIL_TEST_KEPT]"';
    expect(asText(await toolkit.call({ name: "bash", input: { command } }))).toBe("[yes]\n");
  });

  test("are the backend's business when one is given", async () => {
    const backend = await local({ workDir: await workspace(), outputFolder: temporaryFolder() });
    await expect(createToolkit({ target: backend, passEnv: ["A"] })).rejects.toThrow(
      /^createToolkit got passEnv and a backend/,
    );
    await backend.close();
  });
});

test("without a terminal its tools are omitted without an error", () => {
  const namesIn = (choice: object, terminal: boolean) => chosenTools(choice, { terminal }).map(({ name }) => name);
  const toolsets = { mine: ["send-keys", "read"] };
  expect(namesIn({ preset: "mine", toolsets }, false)).toEqual(["read"]);
  expect(namesIn({ preset: "mine", toolsets }, true)).toEqual(["send-keys", "read"]);
  expect(namesIn({ preset: "operator" }, false)).toEqual([
    "run_shell",
    "read_file",
    "write_file",
    "fetch_url",
    "web_search",
    "time",
  ]);
  expect(namesIn({ preset: "operator" }, true)).toEqual([
    "run_shell",
    "read_file",
    "write_file",
    "fetch_url",
    "web_search",
    "capture-pane",
    "send-keys",
    "time",
  ]);
  expect(namesIn({ preset: "all" }, false)).not.toContain("capture-pane");
  expect(namesIn({ preset: "all" }, true)).toContain("capture-pane");
});
