import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Server, createMcpHandler } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { until } from "../support/until.ts";
import { served } from "../tools/mcp/authority.ts";
import { commandLine } from "./program.ts";

const SERVER = join(projectRoot, "test/fixtures/mcp/foreign-server.mjs");

test("a project's .mcp.json is started once a person trusts it, and its tools are listed and called", async () => {
  const other = { command: process.execPath, args: [SERVER, "2025-11-25"] };
  const line = await commandLine({ ".mcp.json": JSON.stringify({ mcpServers: { other } }) });
  const held = ".mcp.json is not trusted: its MCP servers are not started. Run: handrail trust .mcp.json";
  expect(await line.here(["mcp", "list"])).toMatchObject({ code: 0, stdout: "No MCP servers are configured.\n" });
  const echo = ["call", "mcp__other__echo", '{"words":"hello"}', "--yes"];
  expect(await line.here(echo)).toMatchObject({ code: 1, stderr: expect.stringContaining(held) as string });

  const terminal = line.terminal("handrail trust");
  await terminal.shows("[y/N] ");
  expect(terminal.screen()).toContain("other: starts");
  terminal.type("y\r");
  expect(await terminal.ended).toBe(0);

  expect((await line.here(["mcp", "list"])).stdout).toMatch(
    /^other +starts .*foreign-server\.mjs 2025-11-25, in the sandbox\n$/,
  );
  expect((await line.here(["mcp", "login", "other"])).stderr).toMatch(/is a program, not a URL/);
  expect((await line.here(["mcp", "test", "nothing"])).stderr).toMatch(
    /no MCP server is named "nothing". Configured: other/,
  );
});

test("a person fills in a server's form at the terminal, field by field", async () => {
  const config = `tools: { mcp: { other: { command: ${process.execPath}, args: [${SERVER}, '2026-07-28'] } } }`;
  const line = await commandLine({ "mine.yaml": config });
  const terminal = line.terminal("handrail call mcp__other__ask_order --config mine.yaml '{}' > result.txt");
  for (const [shown, typed] of [
    ["ask_order of mcp:other, with any arguments\n [y/N/s] ", "y"],
    ["To fill in: name (required), count, size (one of small, large), extras (some of milk, sugar) [y/N] ", "y"],
    ["On the label\nname (required): ", "Ann"],
    ["count: ", "3"],
    ["size (one of small, large): ", ""],
    ["extras (some of milk, sugar): ", "milk, sugar"],
  ] as const) {
    await until(`the terminal ends with ${shown}`, () => terminal.screen().endsWith(shown)).catch((error) => {
      console.log(JSON.stringify(terminal.screen()));
      throw error;
    });
    terminal.type(`${typed}\r`);
  }
  expect(await terminal.ended).toBe(0);
  const content = { name: "Ann", count: 3, size: "small", extras: ["milk", "sugar"] };
  expect(JSON.parse(await readFile(join(line.folder, "result.txt"), "utf8"))).toMatchObject({ content });
});

test("handrail mcp test lists what a server offers, and calls a tool only on request", async () => {
  const other = `{ command: ${process.execPath}, args: [${SERVER}, '2026-07-28'], tools: [echo] }`;
  const config = `tools: { mcp: { other: ${other} } }`;
  const line = await commandLine({ "mine.yaml": config });
  const listed = await line.here(["mcp", "test", "other", "--config", "mine.yaml"]);
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed.stdout).toMatch(
    /^mcp__other__echo {2}words \(required\) {2}Echoes\.\nmcp__other__read_resource .*\nprompt review: Reviews a file\n$/,
  );
  const call = ["--call", "echo", "--input", '{"words":"hello"}', "--yes"];
  expect((await line.here(["mcp", "test", "other", "--config", "mine.yaml", ...call])).stdout).toMatch(/\nhello\n$/);
  const misplaced = await line.here(["mcp", "test", "other", "--config", "mine.yaml", "--input", "{}"]);
  expect(misplaced).toMatchObject({ code: 2, stderr: expect.stringContaining("name its tool with --call") as string });
  const echo = ["call", "mcp__other__echo", '{"words":"hello"}', "--yes", "--config", "mine.yaml"];
  expect(await line.here(echo)).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" });
});

test("handrail tools reports names of the configuration that no tool has after the start", async () => {
  const other = `{ command: ${process.execPath}, args: [${SERVER}, '2026-07-28'], tools: [echo, ecko] }`;
  const config = `tools: { preset: none, disable: [mcp__other__ecko, mcp__gone__*], mcp: { other: ${other} } }`;
  const line = await commandLine({ "mine.yaml": config });
  const unused = 'handrail: mcp:other has no tool "ecko", which its configuration names.\n';
  const named = (name: string) => `handrail: disable names "${name}", and there is no such tool.\n`;
  expect(await line.here(["tools", "--config", "mine.yaml"])).toMatchObject({
    stdout: expect.stringMatching(/^mcp__other__echo .*\nmcp__other__read_resource .*\n$/) as string,
    stderr: `${unused}${named("mcp__other__ecko")}${named("mcp__gone__*")}`,
  });
  expect(await line.here(["mcp", "test", "other", "--config", "mine.yaml"])).toMatchObject({ stderr: unused });
});

test("a URL that cannot be used is reported with the reason, and with a remedy that helps", async () => {
  const broken = await served((request) => request.socket.destroy());
  const locked = await served((_, response) => response.writeHead(401).end());
  const servers = [
    `broken: { url: '${broken}' }`,
    `locked: { url: '${locked}' }`,
    `token: { url: '${locked}', token_variable: HANDRAIL_TEST_UNSET }`,
    `header: { url: '${locked}', headers: { authorization: 'Bearer \${HANDRAIL_TEST_UNSET}' } }`,
    `wrong: { url: '${locked}', headers: { authorization: Bearer wrong } }`,
  ];
  const line = await commandLine({ "mine.yaml": `tools: { mcp: { ${servers.join(", ")} } }` });
  for (const [words, code, message] of [
    ["test broken", 1, "mcp:broken has failed 2 times and will not be restarted: fetch failed: other side closed."],
    ["test locked", 1, "mcp:locked needs a login: a person runs `handrail mcp login locked`."],
    ["test token", 1, "mcp:token expects HANDRAIL_TEST_UNSET, which is not set."],
    ["test header", 1, "mcp:header expects HANDRAIL_TEST_UNSET, which is not set."],
    ["test wrong", 1, "mcp:wrong answers with HTTP 401: it does not accept the token that it is sent."],
    ["login broken", 2, "cannot log in to broken: fetch failed: other side closed"],
    ["login wrong", 2, "wrong is sent the token that its configuration names: it has no login"],
  ] as const) {
    const run = await line.here(["mcp", ...words.split(" "), "--config", "mine.yaml"]);
    expect(run, words).toMatchObject({ code, stdout: "", stderr: `handrail: ${message}\n` });
  }
});

test("a call of a server's tool starts only this server; the name of another's tool is no error", async () => {
  const other = `other: { command: ${process.execPath}, args: [${SERVER}, '2026-07-28'] }`;
  const config = `tools: { disable: [mcp__gone__*], mcp: { ${other}, gone: { command: touch, args: [started] } } }`;
  const line = await commandLine({ "mine.yaml": config });
  for (const call of [
    ["mcp__other__echo", '{"words":"hello"}'],
    ["bash", '{"command":"echo hello"}'],
  ]) {
    const run = await line.here(["call", ...call, "--yes", "--config", "mine.yaml"]);
    expect(run).toMatchObject({ code: 0, stdout: "hello\n", stderr: "" });
  }
  expect(existsSync(join(line.folder, "started"))).toBe(false);
});

test("warnings of the SDK, in a server's words, do not appear on the screen", async () => {
  const inputSchema = {
    type: "object" as const,
    properties: { a: { type: "object", "x-mcp-header": "not for objects" } },
  };
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "odd", version: "1" }, { capabilities: { tools: {} } });
    const fine = { name: "fine", inputSchema: { type: "object" as const } };
    server.setRequestHandler("tools/list", () => ({ tools: [{ name: "odd\u001b[2J", inputSchema }, fine] }));
    return server;
  });
  const url: string = await served(async ({ method = "GET", headers }, response, body) => {
    const given = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
    const answer = await handler.fetch(new Request(url, { method, headers: given, ...(body !== "" && { body }) }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  const line = await commandLine({ "mine.yaml": `tools: { mcp: { odd: { url: '${url}/mcp' } } }` });
  const { stdout, stderr } = await line.here(["mcp", "test", "odd", "--config", "mine.yaml", "--log-file", "log"]);
  expect({ stdout, stderr }).toMatchObject({ stdout: expect.stringMatching(/^mcp__odd__fine .*\n$/), stderr: "" });
  expect(await readFile(join(line.folder, "log"), "utf8")).toMatch(
    /"console.warned","message":"\[mcp-sdk\] excluding tool/,
  );
});
