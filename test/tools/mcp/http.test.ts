import { readdirSync, statSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { login } from "../../../src/tools/mcp/login.ts";
import { storedTokens } from "../../../src/tools/mcp/oauth.ts";
import { tokenFile } from "../../../src/tools/mcp/token-file.ts";
import type { HttpServerSettings } from "../../../src/tools/mcp/source.ts";
import { withHost } from "../../../src/tools/mcp/transport.ts";
import { createHttpEndpoint } from "../../../src/connect/mcp/http.ts";
import type { NetworkSettings } from "../../../src/machine/network/network-settings.ts";
import { foreignServer } from "../../fixtures/mcp/foreign-server.mjs";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";
import { ERAS } from "../../connect/mcp/connection.ts";
import { authority, json, served } from "./authority.ts";
import { withServers } from "./servers.ts";
import { plainText } from "../../support/plain-text.ts";

/** An MCP server over HTTP. `refuse` answers requests instead. */
async function httpServer(refuse: (headers: Headers) => Response | undefined = () => undefined): Promise<string> {
  const handler = createMcpHandler(({ era, requestInfo }) =>
    foreignServer(era, { key: requestInfo?.headers.get("x-key"), token: requestInfo?.headers.get("authorization") }),
  );
  const url = await served(async ({ method = "GET", headers, url: path }, response, body) => {
    const given = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
    const request = new Request(`${url}${path}`, { method, headers: given, ...(body !== "" && { body }) });
    const answer = refuse(given) ?? (await handler.fetch(request));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  return url;
}

test("a server over HTTP is used like any other, with the headers that are configured", async () => {
  const url = await httpServer();
  const { toolkit, notices } = await withServers({ far: { url: `${url}/mcp`, headers: { "x-key": "a key" } } });
  expect(await toolkit.call({ name: "mcp__far__echo", input: { words: "hello" } })).toMatchObject({ data: "hello" });
  expect(await toolkit.call({ name: "mcp__far__who", input: {} })).toMatchObject({ data: { key: "a key" } });
  expect(notices).toEqual([]);
});

test.each(ERAS)("Handrail's own server of revision %s, which loses the session, is reconnected", async (era) => {
  const inner = await toolkitWith({ preset: "none", tools: [], workDir: await workspace({ "a.txt": "alpha" }) });
  const options = { preset: "readonly", workDir: inner.backend.workDir };
  const endpoints = [createHttpEndpoint(await toolkitWith(options)), createHttpEndpoint(await toolkitWith(options))];
  let current = endpoints[0];
  const url = await served(async ({ method = "GET", headers }, response, body) => {
    const given = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
    const isProbe = era === "2025-11-25" && body.includes("server/discover");
    const request = new Request(`${url}/mcp`, { method, headers: given, ...(body !== "" && { body }) });
    const answer = isProbe ? new Response("{}", { status: 400 }) : await current?.fetch(request);
    response.writeHead(answer?.status ?? 500, Object.fromEntries(answer?.headers ?? []));
    for await (const chunk of answer?.body ?? []) response.write(chunk);
    response.end();
  });
  const { toolkit } = await withServers({ own: { url: `${url}/mcp` } });
  const read = () => toolkit.call({ name: "mcp__own__read", input: { path: "a.txt" } });
  expect(plainText(await read())).toBe("alpha");
  current = endpoints[1];
  expect(plainText(await read())).toMatch(/^alpha/);
});

describe("a server that requires a login", () => {
  const withPorts = (...urls: readonly string[]) =>
    urls.reduce<NetworkSettings>((network, url) => withHost(network, new URL(url)), {});
  const folder = temporaryFolder();
  const ready = (async () => {
    const issuer = await authority();
    const url: string = await httpServer((headers) => {
      const token = (headers.get("authorization") ?? "").replace("Bearer ", "");
      if (issuer.isValid(token)) return undefined;
      const metadata = `Bearer resource_metadata="${resource}/meta"`;
      return new Response(undefined, { status: 401, headers: { "www-authenticate": metadata } });
    });
    const resource: string = await served((_, response) =>
      json(response, 200, { resource: `${url}/mcp`, authorization_servers: [issuer.url] }),
    );
    const file = tokenFile(folder, `${url}/mcp`);
    const network = withPorts(issuer.url, resource);
    const settings: HttpServerSettings = { url: `${url}/mcp`, network, auth: storedTokens(file, {}) };
    return { issuer, url: `${url}/mcp`, file, settings, network: withHost(network, new URL(url)) };
  })();

  test("is named, with what a person can do", async () => {
    const { settings } = await ready;
    const { toolkit, notices } = await withServers({ docs: settings });
    expect(notices).toEqual(["mcp:docs needs a login: a person runs `handrail mcp login docs`."]);
    expect(toolkit.tools.size).toBe(0);
  });

  test("is logged in to with PKCE, at a printed address, and only with our state", async () => {
    const { issuer, url, file, settings, network } = await ready;
    const seen: number[] = [];
    const browser = async (address: URL) => {
      expect(address.searchParams.get("code_challenge_method")).toBe("S256");
      const back = new URL(address.searchParams.get("redirect_uri") ?? "");
      for (const forged of ["", "?code=stolen", "?code=stolen&state=guess"]) {
        seen.push((await fetch(`${back.href}${forged}`)).status);
      }
      seen.push((await fetch(address)).status);
    };
    let browsing: Promise<void> | undefined;
    await login({
      ...{ url, file, settings: {}, network, signal: new AbortController().signal },
      show: (address) => void (browsing = browser(address)),
    });
    await browsing;
    expect(seen).toEqual([404, 404, 404, 200]);
    expect(issuer.counted.registered).toBe(1);
    const [name = ""] = readdirSync(join(folder, "mcp-tokens"));
    expect(statSync(join(folder, "mcp-tokens", name)).mode & 0o777).toBe(0o600);

    const { toolkit, notices } = await withServers({ docs: settings });
    const call = () => toolkit.call({ name: "mcp__docs__echo", input: { words: "in" } });
    expect(await call()).toMatchObject({ data: "in" });
    issuer.expire();
    for (const result of await Promise.all([call(), call(), call()])) expect(result).toMatchObject({ data: "in" });
    expect(issuer.counted.refreshed).toBe(1);
    expect(notices).toEqual([]);

    const other = (await withServers({ docs: settings })).toolkit;
    issuer.expire();
    const both = [call(), other.call({ name: "mcp__docs__echo", input: { words: "in" } })];
    for (const result of await Promise.all(both)) expect(result).toMatchObject({ data: "in" });
    expect(issuer.counted.refreshed).toBe(2);

    issuer.expire();
    issuer.fail(true);
    expect(plainText(await call())).toMatch(/the login could not be renewed: 127\.0\.0\.1:\d+ answers with HTTP 500/);
    issuer.fail(false);
    expect(await call()).toMatchObject({ data: "in" });

    issuer.expire();
    issuer.revoke();
    expect(plainText(await call())).toMatch(/needs a login: a person runs `handrail mcp login docs`/);
  });

  test("is limited by the network rules: its authority at a private address is refused", async () => {
    const { issuer, url, file } = await ready;
    const before = issuer.counted.requests;
    const trying = login({
      ...{ url, file, settings: {} },
      show: () => undefined,
      signal: AbortSignal.timeout(10_000),
    });
    await expect(trying).rejects.toThrow(/HTTP 401/); // it asks the server itself, as servers of 2025-03-26 expect
    expect(issuer.counted.requests).toBe(before);
  });
});

const INITIALIZED = {
  jsonrpc: "2.0",
  result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "odd", version: "1" } },
};

test.each<[string, (response: ServerResponse) => void, RegExp]>([
  [
    "redirects to another origin",
    (response) => response.writeHead(307, { location: "http://169.254.169.254/" }).end(),
    /redirect/i,
  ],
  [
    "answers with something else",
    (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    /content.type/i,
  ],
  [
    "has an answer without end",
    (response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const write = (): unknown => response.write("[".repeat(1_048_576), () => setImmediate(write));
      write();
    },
    /longer than 33554432 bytes|timed out/,
  ],
  [
    "has an event without end",
    (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const write = (): unknown => response.write(`data: ${"x".repeat(1_048_576)}\n`, () => setImmediate(write));
      write();
    },
    /longer than 33554432 bytes|timed out/,
  ],
])("a server over HTTP that %s cannot be used, and is named", async (_, answer, notice) => {
  const url = await served((request, response, body) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (method === "server/discover") return json(response, 400, {});
    if (method === "initialize") return json(response, 200, { ...INITIALIZED, id });
    if (id === undefined) return response.writeHead(202).end();
    return answer(response);
  });
  const { notices, toolkit } = await withServers({ odd: { url: `${url}/mcp`, startMs: 3_000 } });
  expect(notices.join("\n")).toMatch(notice);
  expect(toolkit.tools.size).toBe(0);
});
