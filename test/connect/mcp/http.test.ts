import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import { serveApi } from "../../../src/serve/server.ts";
import { type HttpOptions, createHttpEndpoint } from "../../../src/connect/mcp/http.ts";
import { MAX_MESSAGE_BYTES } from "../../../src/connect/mcp/server.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { rawRequest } from "../../serve/served.ts";
import { afterFile } from "../../support/after-file.ts";
import { until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";
import { ERAS, type Era, type Person, clientOf, envelope } from "./connection.ts";

const TOKEN = "a-token-for-tests-0123456789";
const HEADERS = {
  authorization: `Bearer ${TOKEN}`,
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
};
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const FUTURE = { ...envelope(), "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
const CONFIRM = { shellConfirm: true, blockHighRiskCommands: false };

describe.each(ERAS)("a client of revision %s over HTTP", (era) => {
  test("lists tools, calls them, gets their progress, and stops a call", async () => {
    const { url, workDir } = await served({ policy: { autonomy: "full" } });
    const client = await connected(url, era);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("bash");
    const messages: (string | undefined)[] = [];
    const result = await client.callTool(
      { name: "bash", arguments: { command: "touch began; echo first; echo second" } },
      { onprogress: ({ message }) => void messages.push(message) },
    );
    expect(result).toMatchObject({ isError: false, content: [{ type: "text", text: "first\nsecond\n" }] });
    expect(messages.length).toBeGreaterThan(0);

    const cancelling = new AbortController();
    const stopped = client.callTool(
      { name: "bash", arguments: { command: "trap 'echo > trapped; exit' TERM; touch waiting; sleep 60 & wait" } },
      { signal: cancelling.signal },
    );
    await until("the command runs", () => existsSync(join(workDir, "waiting")));
    cancelling.abort();
    await expect(stopped).rejects.toThrow(/abort|cancel/i);
    await until("the command is stopped", () => existsSync(join(workDir, "trapped")));
  });

  test("asks its person", async () => {
    const { url } = await served({ policy: CONFIRM });
    const asked: string[] = [];
    const person: Person = async ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { answer: asked.length === 1 ? "once" : "refuse" } };
    };
    const client = await connected(url, era, person);
    const run = () => client.callTool({ name: "bash", arguments: { command: "echo hello" } });
    expect(await run()).toMatchObject({ isError: false });
    expect(await run()).toMatchObject({ isError: true, content: [{ text: "Command execution denied by user." }] });
    expect(asked[0]).toContain("Run: echo hello");
  });

  test("that cannot ask waits a while for an answer from the store", async () => {
    const store = memoryStore();
    const { url } = await served({ policy: CONFIRM, store, answerWithinMs: 2_500 });
    const client = await connected(url, era);
    const run = () => client.callTool({ name: "bash", arguments: { command: "echo hello" } });
    const answered = run();
    await until("the question is open", async () => (await store.questions()).length === 1);
    const [question] = await store.questions();
    await store.answer(question?.question ?? "", { answer: "once" }, "a test");
    expect(await answered).toMatchObject({ isError: false });
    expect(JSON.stringify(await run())).toMatch(/nobody answered within 3 seconds/);
  });

  test("that a model's command started is not asked: its answer would be the model's", async () => {
    const { url } = await served({ policy: CONFIRM, answerWithinMs: 100 });
    const program = join(projectRoot, "test", "fixtures", "mcp", "approving-client.mjs");
    const run = async (env: NodeJS.ProcessEnv) =>
      (await promisify(execFile)(process.execPath, [program, `${url}/mcp`, TOKEN, era], { env })).stdout;
    expect(await run(process.env)).toMatch(/"ran/);
    expect(await run({ ...process.env, HANDRAIL_PROCESS: "1" })).toMatch(/nobody answered/);
  });
});

test.each(["*/*", undefined, "application/*, text/*"])("a client that accepts %s is answered", async (accept) => {
  const { url } = await served({});
  const headers = new Headers({ ...HEADERS, accept: accept ?? "" });
  if (accept === undefined) headers.delete("accept");
  const send = async (message: object) => {
    const body = `\uFEFF${JSON.stringify({ jsonrpc: "2.0", ...message })}`;
    const response = await fetch(`${url}/mcp`, { method: "POST", headers, body });
    return { session: response.headers.get("mcp-session-id"), text: await response.text() };
  };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  headers.set("mcp-session-id", (await send({ id: 1, method: "initialize", params })).session ?? "");
  expect((await send({ id: 2, method: "tools/list", params: { cursor: null } })).text).toContain('"tools"');
  headers.set("mcp-session-id", "lost");
  expect(JSON.parse((await send({ id: "x", method: "tools/list" })).text)).toMatchObject({ id: "x", error: {} });
});

describe("sessions of revisions up to 2025-11-25", () => {
  test("are bounded: a new one closes the least recently used idle one", async () => {
    const { url } = await served({ policy: { autonomy: "full" } }, {}, 2);
    const [busy, idle] = [await open(url), await open(url)];
    const waiting = post(url, { id: 1, method: "tools/call", params: SLEEP }, { "mcp-session-id": busy });
    await waiting;
    const third = await open(url);
    expect((await post(url, { id: 2, method: "ping" }, { "mcp-session-id": idle })).status).toBe(404);
    for (const id of [busy, third]) {
      expect((await post(url, { id: 2, method: "ping" }, { "mcp-session-id": id })).status).toBe(200);
    }
  });

  test("end with DELETE, which stops their calls", async () => {
    const { url, workDir } = await served({ policy: { autonomy: "full" } });
    const id = await open(url);
    await post(url, { id: 1, method: "tools/call", params: SLEEP }, { "mcp-session-id": id });
    await until("the command runs", () => existsSync(join(workDir, "waiting")));
    const ended = await fetch(`${url}/mcp`, { method: "DELETE", headers: { ...HEADERS, "mcp-session-id": id } });
    expect(ended.status).toBe(200);
    await until("the command is stopped", () => existsSync(join(workDir, "trapped")));
  });
});

describe("who may use MCP over HTTP", () => {
  test.for<[string, { readonly [name: string]: string }, number]>([
    ["the token", {}, 400], // no session is named
    ["no token", { authorization: "" }, 401],
    ["a wrong token", { authorization: "Bearer wrong" }, 401],
    ["a host of somebody's DNS", { host: "attacker.example:80" }, 421],
    ["a page of another site", { origin: "https://attacker.example" }, 403],
    ["a session that is unknown", { "mcp-session-id": "none" }, 404],
  ])("%s", async ([, headers, status]) => {
    const { url } = await server;
    const answer = await rawRequest(`${url}/mcp`, { authorization: `Bearer ${TOKEN}`, ...headers });
    expect(answer.status, answer.text).toBe(status);
  });

  test.for<[string, string | Uint8Array<ArrayBuffer>, { readonly [name: string]: string }, number]>([
    ["no JSON", "{", {}, 400],
    ["another type", "{}", { "content-type": "text/plain" }, 415],
    ["no message", "{}", {}, 400],
    ["a revision that is not served", JSON.stringify({ ...LIST, params: { _meta: FUTURE } }), {}, 400],
    ["a body that is too large", new Uint8Array(MAX_MESSAGE_BYTES + 1), {}, 413],
  ])("%s is refused", async ([, body, headers, status]) => {
    const { url } = await server;
    const answer = await fetch(`${url}/mcp`, { method: "POST", body, headers: { ...HEADERS, ...headers } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ jsonrpc: "2.0", error: {} });
  });

  test("with MCP alone there is no API", async () => {
    const { url } = await server;
    const answer = await rawRequest(`${url}/api/threads`, { authorization: `Bearer ${TOKEN}` });
    expect(answer).toMatchObject({ status: 404, text: expect.stringContaining("MCP is served at /mcp") as string });
  });
});

const SLEEP = {
  name: "bash",
  arguments: { command: "trap 'echo > trapped; exit' TERM; touch waiting; sleep 60 & wait" },
};

/** Opens a session; resolves to its id. */
async function open(url: string): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const response = await post(url, { id: 0, method: "initialize", params });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

function post(url: string, message: object, headers: { readonly [name: string]: string } = {}): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return fetch(`${url}/mcp`, { method: "POST", body, headers: { ...HEADERS, ...headers } });
}

const clients: { close(): Promise<void> }[] = [];

afterFile(async () => {
  await Promise.all(clients.splice(0).map((each) => each.close()));
});

async function connected(url: string, era: Era, person?: Person): Promise<Client> {
  const { client } = clientOf(era, person);
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization: HEADERS.authorization } },
    }),
  );
  clients.push(client);
  return client;
}

async function served(options: ToolkitOptions, http: HttpOptions = {}, maxSessions?: number) {
  const workDir = await workspace();
  const toolkit = await toolkitWith({ workDir, ...options });
  const endpoint = createHttpEndpoint(toolkit, { ...http, ...(maxSessions !== undefined && { maxSessions }) });
  const running = await serveApi({ toolkit, token: TOKEN, mcp: endpoint, api: false });
  const leave = await toolkit.store.attend();
  clients.push({ close: () => Promise.all([running.close(), leave()]).then(() => undefined) });
  return { url: running.url, workDir };
}

test("each session is a conversation of its own, with its own budget of what leaves the machine", async () => {
  const store = memoryStore();
  const { url } = await served({ preset: "all", store });
  const [one, other] = [await connected(url, "2025-11-25"), await connected(url, "2025-11-25")];
  for (const client of [one, one, other]) await client.callTool({ name: "time", arguments: {} });
  const threads = (await store.threads()).map(({ thread }) => thread);
  expect(threads).toEqual([expect.stringMatching(/^mcp-\w+$/), expect.stringMatching(/^mcp-\w+$/)]);
  expect(threads[0]).not.toBe(threads[1]);
});

const server = served({ preset: "none" });
