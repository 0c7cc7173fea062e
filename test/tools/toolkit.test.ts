import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ToolFailure } from "../../src/core/contract/failure.ts";
import type { ToolResult } from "../../src/core/contract/result.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asContent, asOutcome, asText } from "../../src/core/call/result.ts";
import { local } from "../../src/machine/local/backend.ts";
import type { PresetName } from "../../src/tools/presets/presets.ts";
import { read } from "../../src/tools/read.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

const nothing = defineTool({
  name: "nothing",
  description: "Does nothing.",
  touches: [],
  input: {},
  effects: () => [],
  run: async () => null,
});

describe("createToolkit", () => {
  test("has the tools of a coding agent by default; with own tools only those", async () => {
    expect([...(await toolkitWith()).tools.keys()]).toEqual(["read", "bash", "edit", "write", "jobs"]);
    expect([...(await toolkitWith({ tools: [nothing] })).tools.keys()]).toEqual(["nothing"]);
    expect([...(await toolkitWith({ preset: "coding", tools: [nothing] })).tools.keys()]).toEqual([
      "read",
      "bash",
      "edit",
      "write",
      "jobs",
      "nothing",
    ]);
    const none = await toolkitWith({ preset: "none" });
    expect(none.tools.size).toBe(0);
    expect(none.definitions("openai")).toBeUndefined();
  });

  test("refuses a working directory that does not exist or is not a folder", async () => {
    const folder = await workspace({ "a.txt": "" });
    await expect(createToolkit({ workDir: join(folder, "missing") })).rejects.toThrow(
      new ToolFailure(`The working directory does not exist: ${folder}/missing`),
    );
    await expect(createToolkit({ workDir: join(folder, "a.txt") })).rejects.toThrow(
      new ToolFailure(`The working directory is not a folder: ${folder}/a.txt`),
    );
  });

  test("refuses two tools with the same name, also of a preset", async () => {
    await expect(createToolkit({ tools: [nothing, nothing] })).rejects.toThrow(
      new TypeError('two tools are named "nothing"; rename one of them'),
    );
    await expect(createToolkit({ preset: "coding", tools: [read()] })).rejects.toThrow(
      new TypeError('two tools are named "read"; rename one of them'),
    );
  });

  test("refuses an unknown preset with the known ones", async () => {
    for (const preset of ["codign", "toString"]) {
      await expect(createToolkit({ preset: preset as PresetName })).rejects.toThrow(
        new RegExp(`^no preset "${preset}": expected one of .*coding.*none`),
      );
    }
  });

  test("refuses an option that does not exist, and names the nearest", async () => {
    await expect(createToolkit({ sandbxo: "on" } as ToolkitOptions)).rejects.toThrow(
      new TypeError('createToolkit has no option "sandbxo". Did you mean "sandbox"?'),
    );
  });

  test("refuses a working directory next to a backend, which has its own", async () => {
    const workDir = await workspace();
    const backend = await local({ workDir, outputFolder: temporaryFolder() });
    await expect(createToolkit({ workDir, target: backend })).rejects.toThrow(
      /^createToolkit got workDir and a backend/,
    );
    await backend.close();
  });

  test("works in the given folder, by its real path", async () => {
    const folder = await workspace({ "sub/a.txt": "here\n" });
    await mkdir(join(folder, "other"));
    const toolkit = await toolkitWith({ workDir: join(folder, "other", "..", "sub") });
    expect(toolkit.backend.workDir).toBe(join(folder, "sub"));
    expect(await toolkit.call({ name: "read", input: { path: "a.txt" } })).toMatchObject({
      status: "ok",
      data: { text: "here\n" },
    });
  });
});

describe("a result for a program, a model and an MCP client", () => {
  const png = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" } as const;
  const said = { type: "text", text: "partial\n" } as const;

  test.for<[string, ToolResult, { text: string; output: string; error: string | null }]>([
    ["ok", { status: "ok", content: [said], data: 1 }, { text: "partial\n", output: "partial\n", error: null }],
    ["ok with nothing", { status: "ok", content: [], data: null }, { text: "", output: "", error: null }],
    [
      "ok with a picture",
      { status: "ok", content: [{ type: "text", text: "see" }, png], data: null },
      { text: "see\n[Image: image/png, 8B]", output: "see\n[Image: image/png, 8B]", error: null },
    ],
    [
      "unknown-tool",
      { status: "unknown-tool", name: "raed", closest: ["read", "write"] },
      {
        text: 'unknown tool "raed". Closest: "read", "write"',
        output: "",
        error: 'unknown tool "raed". Closest: "read", "write"',
      },
    ],
    [
      "unknown-tool without any",
      { status: "unknown-tool", name: "read", closest: [] },
      {
        text: 'unknown tool "read". There are no tools.',
        output: "",
        error: 'unknown tool "read". There are no tools.',
      },
    ],
    [
      "invalid-input",
      {
        status: "invalid-input",
        issues: [
          { path: "a", message: 'missing required parameter "a"' },
          { path: "", message: "two" },
        ],
      },
      {
        text: 'validation error: missing required parameter "a"\nvalidation error: two',
        output: "",
        error: 'validation error: missing required parameter "a"\nvalidation error: two',
      },
    ],
    [
      "denied",
      { status: "denied", reason: "Not here.", by: "policy" },
      { text: "Not here.", output: "", error: "Not here." },
    ],
    ["failed", { status: "failed", message: "no" }, { text: "Tool error: no", output: "", error: "no" }],
    [
      "failed with all there is",
      { status: "failed", message: "no", hint: "Try again.", content: [said], data: 1 },
      { text: "Tool error: no\nTry again.\npartial\n", output: "partial\n", error: "no\nTry again." },
    ],
    [
      "aborted",
      { status: "aborted" },
      {
        text: "The call was stopped before it finished.",
        output: "",
        error: "The call was stopped before it finished.",
      },
    ],
    [
      "aborted with partial output",
      { status: "aborted", content: [said] },
      {
        text: "The call was stopped before it finished.\npartial\n",
        output: "partial\n",
        error: "The call was stopped before it finished.",
      },
    ],
  ])("%s", ([, result, { text, output, error }]) => {
    expect(asText(result)).toBe(text);
    expect(asOutcome(result)).toEqual({ success: result.status === "ok", output, error });
    const content = result.status === "ok" ? result.content : [{ type: "text", text }];
    expect(asContent(result)).toEqual({ content, isError: result.status !== "ok" });
  });

  test("an image of a failed call stays an image next to the text", () => {
    const result: ToolResult = { status: "failed", message: "no", content: [png] };
    expect(asContent(result)).toEqual({
      content: [{ type: "text", text: "Tool error: no\n[Image: image/png, 8B]" }, png],
      isError: true,
    });
  });
});
