import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ToolSource, ToolSourceHost } from "../../../src/core/contract/tool-source.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { isAlive, until } from "../../support/until.ts";
import { repository, workspace } from "../../support/workspace.ts";
import { ERAS, connect, connectToProcess } from "./connection.ts";

const free = { autonomy: "full" } as const;

describe.each(ERAS)("a client of revision %s", (era) => {
  test("gets the server's name, where tools work and how to read long output", async () => {
    const workDir = await workspace();
    const { client } = await connect(era, { toolkit: { workDir }, service: { version: "9.8.7" } });
    expect(client.getServerVersion()).toMatchObject({ name: "handrail", version: "9.8.7" });
    expect(client.getInstructions()).toBe(
      `Relative paths and commands start in ${workDir} (local). ` +
        "A truncated result names its full output as output://ID: read it with the read tool.",
    );
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: true }, resources: {} });
  });

  test("is notified when the tools of a source have changed", async () => {
    const workDir = await workspace();
    let host: ToolSourceHost | undefined;
    const source: ToolSource = { name: "x:test", start: async (given) => void (host = given), close: async () => {} };
    const { client } = await connect(era, { toolkit: { workDir, sources: [source] } });
    const changes: string[] = [];
    client.setNotificationHandler("notifications/tools/list_changed", () => void changes.push("changed"));
    if (era === "2026-07-28") await client.listen({ toolsListChanged: true });
    const late = defineTool({ name: "late", description: "Late", input: {}, run: async () => "here" });
    host?.set([late]);
    await until("the client hears of it", () => changes.length === 1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("late");
    expect(await client.callTool({ name: "late", arguments: {} })).toMatchObject({ content: [{ text: "here" }] });
  });

  test("gets the tools with titles, annotations and unchanged schemas", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace() } });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).slice(0, 5)).toEqual(["read", "bash", "edit", "write", "jobs"]);
    const [read, bash] = tools;
    expect(read).toMatchObject({ title: "Read file", annotations: { readOnlyHint: true, openWorldHint: false } });
    expect(bash).toMatchObject({
      title: "Run command",
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
      inputSchema: {
        type: "object",
        required: ["command"],
        properties: { timeout: { type: "number", exclusiveMinimum: 0, maximum: 86_400 } },
        additionalProperties: false,
      },
    });
  });

  test("gets an empty list without tools, and no instructions for reading", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace(), preset: "none" } });
    expect((await client.listTools()).tools).toEqual([]);
    expect(client.getInstructions()).not.toContain("output://");
    const calling = client.callTool({ name: "read", arguments: { path: "x" } });
    await expect(calling).rejects.toThrow('unknown tool "read". There are no tools.');
  });

  test("gets a protocol error for an unknown tool, with the closest names", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace() } });
    const calling = client.callTool({ name: "raed" });
    await expect(calling).rejects.toMatchObject({ code: -32_602, message: 'unknown tool "raed". Closest: "read"' });
  });

  test("reads, edits and runs commands in a git repository", async () => {
    const workDir = await repository({ "greeting.txt": "hello\nworld\n" });
    const { client } = await connectToProcess(era, { toolkit: { workDir, policy: free } });
    const read = await client.callTool({ name: "read", arguments: { path: "greeting.txt" } });
    expect(read).toMatchObject({ isError: false, content: [{ type: "text", text: "hello\nworld\n" }] });
    const edit = await client.callTool({
      name: "edit",
      arguments: { path: "greeting.txt", old_text: "world", new_text: "rails" },
    });
    expect(edit.isError).toBe(false);
    const diff = await client.callTool({
      name: "bash",
      arguments: { command: "git diff --stat && git diff | tail -3" },
    });
    expect(diff.content[0]).toMatchObject({ text: expect.stringContaining("1 insertion(+), 1 deletion(-)") as string });
    expect(diff.content[0]).toMatchObject({ text: expect.stringContaining("-world\n+rails") as string });
    expect(execFileSync("git", ["-C", workDir, "status", "--porcelain"], { encoding: "utf8" })).toBe(
      " M greeting.txt\n",
    );
  });

  test("gets images as images", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace() } });
    const { content, isError } = await client.callTool({ name: "picture" });
    expect(isError).toBe(false);
    expect(content).toEqual([
      { type: "text", text: "One pixel:" },
      { type: "image", mimeType: "image/png", data: expect.stringMatching(/^iVBORw0KGgo/) as string },
    ]);
  });

  test("gets data as text, and not again as structured content", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace() } });
    const result = await client.callTool({ name: "numbers" });
    expect(result).toMatchObject({ isError: false, content: [{ type: "text", text: "[1,2,3]" }] });
    expect(result).not.toHaveProperty("structuredContent");
  });

  test("gets data as structured content if the tool declares an output schema, which the client checks", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace() } });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "weather")?.outputSchema).toMatchObject({ required: ["degrees"] });
    expect(tools.flatMap(({ name, outputSchema }) => (outputSchema === undefined ? [] : [name]))).toEqual([
      ...["jobs", "weather"],
    ]);
    expect(await client.callTool({ name: "weather" })).toMatchObject({
      content: [{ type: "text", text: "21 degrees" }],
      structuredContent: { degrees: 21 },
    });
  });

  test.each([
    [
      "arguments that do not fit",
      { name: "read", arguments: {} },
      'validation error: missing required parameter "path"',
    ],
    ["a tool that fails", { name: "failing" }, "Tool error: the lamp is off\nSwitch it on."],
    ["a tool that throws", { name: "throwing" }, "Tool error: index 7 of 3"],
  ])("gets %s as a result that is an error, in the words of every way in", async (_, call, words) => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace() } });
    const { isError, content } = await client.callTool(call);
    expect(isError).toBe(true);
    expect(content[0]).toMatchObject({ type: "text", text: expect.stringContaining(words) as string });
  });

  test("gets progress in order, counting up: the tool's message, or the last line of its output", async () => {
    const workDir = await workspace();
    const { client } = await connect(era, { toolkit: { workDir } });
    const heard: [number, string | undefined][] = [];
    const updates = [
      { displayMessage: "stage \u001b[1mone\u001b[22m" },
      { output: "fetching\n\u001b[32mgreen\u001b[0m line\n\n" },
      { output: "half" },
      { output: " and half\n" },
      { output: "10%\r90%\r" },
      { data: { done: 3 } },
      { displayMessage: "x".repeat(500), output: "not this\n" },
    ];
    const result = await client.callTool(
      { name: "reporting", arguments: { updates } },
      {
        onprogress({ progress, message }) {
          heard.push([progress, message]);
          writeFileSync(join(workDir, String(heard.length)), "go on");
        },
      },
    );
    expect(result.content).toEqual([{ type: "text", text: '{"count":7}' }]);
    expect(heard).toEqual([
      [1, "stage one"],
      [2, "green line"],
      [3, "half"],
      [4, "half and half"],
      [5, "90%"],
      [6, undefined],
      [7, expect.stringMatching(/^x+\[…\d+ characters…\]x+$/)],
    ]);
    expect(heard[6]?.[1]).toHaveLength(200);
  });

  test("gets the output of a command while it runs", async () => {
    const workDir = await workspace();
    const { client } = await connect(era, { toolkit: { workDir, policy: free } });
    const heard: (string | undefined)[] = [];
    const result = await client.callTool(
      { name: "bash", arguments: { command: "echo waiting; until [ -e go ]; do sleep 0.01; done" } },
      {
        onprogress({ message }) {
          heard.push(message);
          writeFileSync(join(workDir, "go"), "");
        },
      },
    );
    expect(result.isError).toBe(false);
    expect(heard).toEqual(["waiting"]);
  });

  test("that cancels a call ends its command with all its processes", async () => {
    const workDir = await workspace();
    const { client } = await connect(era, { toolkit: { workDir, policy: free } });
    const stop = new AbortController();
    const command = "sleep 1000 & echo $! > child; echo $$ > parent; wait";
    const call = client.callTool({ name: "bash", arguments: { command } }, { signal: stop.signal });
    const cancelled = expect(call).rejects.toThrow("enough");
    await until("the command has started", () => existsSync(join(workDir, "parent")) && read("parent") !== "");
    const pids = [read("parent"), read("child")].map(Number);
    for (const pid of pids) expect(await isAlive(pid)).toBe(true);
    stop.abort(new Error("enough"));
    await cancelled;
    for (const pid of pids) await until(`process ${pid} has ended`, async () => !(await isAlive(pid)));
    const next = await client.callTool({ name: "bash", arguments: { command: "echo still here" } });
    expect(next.content).toEqual([{ type: "text", text: "still here\n" }]);

    function read(name: string): string {
      return readFileSync(join(workDir, name), "utf8").trim();
    }
  });

  test("that disconnects ends running calls, and the server", async () => {
    const workDir = await workspace();
    const service = { finishMs: 100 }; // before the client ends the process
    const { client, pid, stderr } = await connectToProcess(era, { toolkit: { workDir, policy: free }, service });
    const call = client.callTool({ name: "bash", arguments: { command: "echo $$ > pid; exec sleep 1000" } });
    const lost = expect(call).rejects.toThrow("closed");
    await until("the command has started", () => existsSync(join(workDir, "pid")));
    await until("its process id is there", async () => (await readFile(join(workDir, "pid"), "utf8")) !== "");
    const running = Number(await readFile(join(workDir, "pid"), "utf8"));
    await client.close();
    await lost;
    await until("the command has ended", async () => !(await isAlive(running)));
    await until("the server has ended", async () => !(await isAlive(pid)));
    expect(stderr()).toBe("closed\n");
  });

  test("is not disturbed by a tool that writes to stdout", async () => {
    const { client, stderr } = await connectToProcess(era, { toolkit: { workDir: await workspace() } });
    const { content } = await client.callTool({ name: "noisy" });
    expect(content).toEqual([{ type: "text", text: "said" }]);
    await until("what the tool wrote is on stderr", () => stderr().includes("no message at all\n"));
    expect(stderr()).toContain("not from the protocol");
  });

  test("makes several calls at once", async () => {
    const { client } = await connect(era, { toolkit: { workDir: await workspace(), policy: free } });
    const calls = Array.from({ length: 8 }, (_, index) =>
      client.callTool({ name: "bash", arguments: { command: `echo ${index}` } }),
    );
    const texts = (await Promise.all(calls)).map(({ content }) => content[0]);
    expect(texts).toEqual(Array.from({ length: 8 }, (_, index) => ({ type: "text", text: `${index}\n` })));
  });
});
