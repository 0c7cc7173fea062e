// The examples of the five documents that Handrail began with (test/requirements.md), as they are written there.
import { describe, expect, test } from "vitest";
import type { Backend } from "../src/core/contract/backend.ts";
import { Type } from "typebox";
import { asText, defineTool, local } from "../src/index.ts";
import { place } from "./app/config/config.ts";
import { temporaryFolder, toolkitWith } from "./support/workspace.ts";
import { layout } from "./support/layout.ts";

/** Arguments as the document has them; a text that the result has, in this order of rows. */
type Run = readonly [tool: string, input: string, expected: string | RegExp];

const FILES = {
  "pkg/agent/loop.go": "package agent\n\nfunc serveHandler() {}\n",
  "main.go": 'package main\n\nfunc main() {\n\tfmt.Println("hello")\n}\n',
  "main_test.go": "package main\n",
  "long.txt": Array.from({ length: 300 }, (_, at) => `line ${at + 1}\n`).join(""),
};

const RUNS: { readonly [preset: string]: readonly Run[] } = {
  operator: [
    [
      "run_shell",
      '{"command": "printf \'512M\\t/var\\n\'", "wait": true}',
      "exit code: 0\nstdout:\n512M\t/var\nstderr:\n",
    ],
    ["run_shell", '{"command": "npm run build", "wait": false}', "requires a tmux-backed execution target"],
    ["write_file", '{"path": "output.txt", "content": "hello world\\n"}', /^Wrote 12 bytes to output\.txt/],
    ["read_file", '{"path": "output.txt"}', "hello world\n"],
    ["time", "{}", /^\d{10}$/],
    ["time", '{ "format": "epoch" }', /^\d{10}$/],
    ["time", '{ "format": "epoch_ms" }', /^\d{13}$/],
    ["time", '{ "format": "epoch_ns" }', /^\d{19}$/],
    ["time", '{ "format": "iso" }', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/],
    ["time", '{ "format": "rfc2822" }', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/],
    ["time", '{ "format": "date" }', /^\d{4}-\d\d-\d\d$/],
    ["time", '{ "format": "time" }', /^\d\d:\d\d:\d\d$/],
  ],
  workspace: [
    ["read", '{"path": "long.txt", "limit": 100}', /lines 1-100.*offset=101/s],
    ["edit", '{"path": "long.txt", "old_text": "line 1", "new_text": "x"}', /occurs \d+ times/],
    ["write", '{"path": "new/folder/a.txt", "content": "a"}', "new/folder/a.txt"],
    ["read", '{"path": "pkg/agent/loop.go", "offset": 1, "limit": 50}', "func serveHandler"],
    [
      "edit",
      '{"path": "main.go", "old_text": "fmt.Println(\\"hello\\")", "new_text": "fmt.Println(\\"world\\")"}',
      "main.go",
    ],
    ["read", '{"path": "main.go"}', 'fmt.Println("world")'],
    ["write", '{"path": "notes.md", "content": "# Notes\\n\\n- item one\\n"}', "notes.md"],
    ["grep", '{"pattern": "func.*Handler", "path": ".", "glob": "*.go", "context_lines": 2}', "func serveHandler"],
    ["find", '{"path": ".", "pattern": "*_test.go", "type": "file"}', "main_test.go"],
    ["ls", '{"path": "pkg/agent", "show_hidden": false}', "loop.go"],
    ["read", "{}", 'validation error: missing required parameter "path"'],
  ],
  assistant: [
    ...["command", "cmd", "script", "shell_command", "bash", "sh"].map((name): Run => [
      "shell",
      `{"${name}": "echo hi"}`,
      /^hi\n?$/,
    ]),
    ["shell", '"echo hi"', /^hi\n?$/],
    ["shell", '{"command": "echo out; echo err >&2"}', "stdout:\nout\n\n\nstderr:\nerr\n"],
    ["shell", '{"command": "exit 3"}', "Exit code: 3"],
    ["file_write", '{"path": "a.txt", "content": "hello"}', "Wrote 5 bytes to a.txt"],
    ["file_read", '{"path": "a.txt"}', "hello"],
    ["file_read", '{"path": "none.txt"}', /^Tool error: File not found: /],
    ["file_read", '{"path": "/etc/passwd"}', /Path not allowed by security policy: \/etc\/passwd/],
    ["memory_recall", '{"query": "tea"}', "No matching memories found"],
    ["memory_store", '{"key": "drink", "content": "Likes tea.", "category": "core"}', "Stored memory: drink"],
    ["memory_recall", '{"query": "tea", "limit": 5}', "Found 1 memories:\n\n- **drink**: Likes tea.\n"],
  ],
};

describe.each(Object.entries(RUNS))("the examples for the preset %s", (preset, runs) => {
  test("run, with the texts of the documents", async () => {
    const world = await layout();
    for (const [path, content] of Object.entries(FILES)) await world.file(path, content);
    const toolkit = await world.toolkit({ preset, policy: { autonomy: "full", forbiddenPaths: world.forbiddenPaths } });
    for (const [name, input, expected] of runs) {
      const text = asText(await toolkit.call({ name, input }));
      if (typeof expected === "string") expect(text, `${name} ${input}`).toContain(expected);
      else expect(text, `${name} ${input}`).toMatch(expected);
    }
  });
});

const NOT_RUN: readonly (readonly [preset: string, tool: string, input: string])[] = [
  ["operator", "run_shell", '{"command": "du -sh /var", "wait": true}'],
  ...['"30s"', '"10m"', '"1h"', "500"].map(
    (wait) => ["operator", "run_shell", `{"command": "make", "wait": ${wait}}`] as const,
  ),
  ["operator", "read_file", '{ "path": "/etc/hostname" }'],
  ["operator", "write_file", '{"path": "/tmp/output.txt", "content": "hello world\\n"}'],
  ["operator", "fetch_url", '{ "url": "https://example.com/api/data" }'],
  ["operator", "web_search", '{ "query": "rust tokio tutorial" }'],
  ["operator", "capture-pane", '{"delay": "2s", "start": "-", "end": "-", "join_wrapped_lines": true}'],
  ["operator", "capture-pane", '{"delay": "5s"}'],
  ["operator", "send-keys", '{"keys": ["C-c"], "literal_text": "yes\\n", "enter": true, "delay_ms": 500}'],
  ["operator", "send-keys", '{"keys": ["C-c"]}'],
  ["operator", "send-keys", '{"literal_text": "yes", "enter": true}'],
  ["operator", "send-keys", '{"keys": ["Down", "Down", "Enter"]}'],
  ["coding", "bash", '{"command": "go test ./... 2>&1", "timeout": 60}'],
  ["web", "web_search", '{"query": "golang 1.24 release notes", "max_results": 5}'],
  ["web", "web_fetch", '{"url": "https://go.dev/doc/go1.24", "max_bytes": 51200}'],
];

test.each(NOT_RUN)(
  "an example that reaches outside fits, and is judged before it runs: %s, %s %s",
  async (preset, name, input) => {
    const inner = await local({ workDir: temporaryFolder(), outputFolder: temporaryFolder() });
    const pane = { pane: "%1", text: "", noAlternateScreen: false };
    const target: Backend = {
      ...inner,
      terminal: { attach: "", capture: async () => pane, sendKeys: async () => pane, dispatch: async () => pane },
    };
    const judged: unknown[] = [];
    const toolkit = await toolkitWith({
      ...{ target, preset },
      policies: [
        async (call) => {
          judged.push(call.input);
          return { verdict: "deny", risk: "low", rule: "test", reason: "Not in a test" };
        },
      ],
    });
    expect(await toolkit.call({ name, input })).toMatchObject({ status: "denied" });
    expect(judged).toEqual([expect.objectContaining(JSON.parse(input))]);
  },
);

test("a command that a person refuses, and a tool of one's own, have the texts of the documents", async () => {
  const input = Type.Object({
    city: Type.String({ description: "City name, e.g. 'San Francisco'" }),
    units: Type.Optional(Type.Union([Type.Literal("celsius"), Type.Literal("fahrenheit")])),
  });
  const weather = defineTool({
    ...{ name: "get_weather", description: "Get the current weather for a city.", input },
    run: async ({ city, units = "celsius" }) => `Weather in ${city}: 20°${units === "celsius" ? "C" : "F"}, sunny`,
  });
  const toolkit = await toolkitWith({
    ...{ preset: "operator", tools: [weather], policy: { shellConfirm: true } },
    approver: async () => ({ answer: "refuse" }),
  });
  const text = async (name: string, given: object) => asText(await toolkit.call({ name, input: given }));
  expect(await text("run_shell", { command: "ls" })).toBe("Command execution denied by user.");
  expect(await text("get_weather", {})).toContain('validation error: missing required parameter "city"');
  expect(await text("get_weather", { city: "San Francisco" })).toBe("Weather in San Francisco: 20°C, sunny");
});

test.each([
  [
    "tools:\n  preset: coding     # read, bash, edit, write  (default)\n  work_dir: .        # working directory for file tools\n",
    { preset: "coding" },
  ],
  [
    "tools:\n  preset: none    # or coding, etc.\n  plugins:\n    - path: ./plugins/my-tool\n      args: []\n" +
      '    - path: /usr/local/bin/my-plugin\n      args: ["--verbose"]\n',
    { preset: "none", plugins: [{ args: [] }, { path: "/usr/local/bin/my-plugin", args: ["--verbose"] }] },
  ],
])("a configuration of the documents is taken: %j", async (user, tools) => {
  expect((await (await place()).read({ user })).settings.tools).toMatchObject(tools);
});
