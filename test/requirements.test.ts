// What the documents of docs/seeds.md ask for and no other test shows: the tools that they print, and what their users
// find in the library.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Command } from "../src/contract/backend.ts";
import type { Tool } from "../src/contract/tool.ts";
import {
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  ToolFailure,
  asText,
  defineTool,
  formatSize,
  local,
  plugin,
  truncateHead,
  truncateTail,
} from "../src/index.ts";
import { temporaryFolder, toolkitWith } from "./support/workspace.ts";

/** The tools as the documents print them, each with a call and what its model reads. */
const PRINTED: readonly (readonly [document: number, tool: Tool, input: object, text: string])[] = [
  [
    1,
    defineTool({
      name: "my_tool",
      description: "Does something useful.",
      input: {
        type: "object",
        properties: { message: { type: "string", description: "The message to process" } },
        required: ["message"],
      },
      run: async ({ message }) => `processed: ${message}`,
    }),
    { message: "hello" },
    "processed: hello",
  ],
  [
    3,
    defineTool({
      name: "my_tool",
      description: "What this tool does",
      paramsHint: "param1 (required), param2 (optional)",
      input: {
        type: "object",
        properties: {
          param1: { type: "string", description: "Parameter description" },
          param2: { type: "string", description: "Parameter description" },
        },
        required: ["param1"],
        additionalProperties: false,
      },
      run: async ({ param1, param2 }) => {
        if (param2 === "bad") throw new ToolFailure("Failed: no such thing");
        return { result_id: 1, result_title: param1, display_message: "Created thing!" };
      },
    }),
    { param1: "Thing" },
    '{"result_id":1,"result_title":"Thing","display_message":"Created thing!"}',
  ],
  [
    4,
    defineTool({
      name: "new_tool",
      description: "Description of what this tool does",
      input: {
        type: "object",
        properties: { param1: { type: "string", description: "Parameter description" } },
        required: ["param1"],
      },
      run: async () => "Result",
    }),
    { param1: "a" },
    "Result",
  ],
  [
    5,
    defineTool({
      name: "get_weather",
      description: "Get the current weather for a city.",
      input: {
        type: "object",
        properties: {
          city: { type: "string", description: "City name, e.g. 'San Francisco'" },
          units: { enum: ["celsius", "fahrenheit"], description: "Temperature units" },
        },
        required: ["city"],
      },
      run: async ({ city, units = "celsius" }, { report }) => {
        report({ displayMessage: `Fetching weather for ${city}...` });
        return { city, degrees: 21, unit: units === "celsius" ? "C" : "F" };
      },
      render: ({ city, degrees, unit }) => `Weather in ${city}: ${degrees}°${unit}, sunny`,
    }),
    { city: "Rome" },
    "Weather in Rome: 21°C, sunny",
  ],
];

describe("a tool that a document prints is a tool of ours", () => {
  const named = PRINTED.map(([document, tool, input, text]) => [document, tool.name, { tool, input, text }] as const);

  test.each(named)("document %i: %s", async (_, name, { tool, input, text }) => {
    const toolkit = await toolkitWith({ preset: "none", tools: [tool] });
    expect(asText(await toolkit.call({ name, input: JSON.stringify(input) }))).toBe(text);
    const [required] = Object.keys(input);
    expect(asText(await toolkit.call({ name, input: "{}" }))).toBe(
      `validation error: missing required parameter "${required}"`,
    );
    expect(toolkit.definitions("openai")?.[0]?.function).toMatchObject({ name, description: tool.description });
  });
});

describe("a command without a timeout", () => {
  test.each([
    ["shell", 60_000],
    ["bash", 120_000],
    ["run_shell", undefined],
  ])("of %s may take %s ms", async (name, timeoutMs) => {
    const started: Command[] = [];
    const inner = await local({ workDir: temporaryFolder(), outputFolder: temporaryFolder() });
    const target = {
      ...inner,
      spawn: (command: Command) => {
        started.push(command);
        return inner.spawn(command);
      },
    };
    const toolkit = await toolkitWith({
      target,
      preset: "one",
      toolsets: { one: [name] },
      policy: { autonomy: "full" },
    });
    expect(await toolkit.call({ name, input: { command: "cat /dev/null" } })).toMatchObject({ status: "ok" });
    expect(started.map((command) => command.timeoutMs)).toEqual([timeoutMs]);
    await toolkit.close();
    await inner.close();
  });
});

test("what cuts the output of our tools is there for others: two limits, either end, sizes in words", () => {
  const output = "line\n".repeat(3_000);
  expect([DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES]).toEqual([51_200, 2_000]);
  expect(truncateHead(output, { bytes: DEFAULT_MAX_BYTES, lines: DEFAULT_MAX_LINES })).toMatchObject({
    ...{ truncated: "lines", shownLines: 2_000, totalLines: 3_000 },
  });
  expect(truncateTail(`${output}end`, { bytes: 8 }).text).toBe("line\nend");
  expect([formatSize(51_200), formatSize(1_572_864)]).toEqual(["50KB", "1.5MB"]);
});

test("a plugin gets the words of its configuration, and is one process for all calls of a session", async () => {
  const path = join(temporaryFolder(), "counter.mjs");
  await writeFile(
    path,
    `import { createInterface } from "node:readline";
    let calls = 0;
    const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
    for await (const line of createInterface({ input: process.stdin })) {
      const { type, call_id } = JSON.parse(line);
      if (type === "init") say({ type, tools: [{ name: "count", description: "Counts.", parameters: { type: "object" } }] });
      const text = () => [...process.argv.slice(2), ++calls].join(" ");
      if (type === "call") say({ type: "result", call_id, content: [{ type: "text", text: text() }] });
    }`,
  );
  const sources = [plugin({ path: process.execPath, args: [path, "--verbose", "a b"] })];
  const toolkit = await toolkitWith({ preset: "readonly", sources, policy: { autonomy: "full" } });
  await toolkit.ready;
  expect([...toolkit.tools.keys()]).toEqual(["read", "grep", "find", "ls", "count"]);
  const texts: string[] = [];
  for (let call = 0; call < 3; call++) texts.push(asText(await toolkit.call({ name: "count", input: {} })));
  expect(texts.map((text) => /--verbose a b \d/.exec(text)?.[0])).toEqual([1, 2, 3].map((n) => `--verbose a b ${n}`));
});
