import { describe, expect, test } from "vitest";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import type { StoredEvent } from "../../src/core/contract/activity.ts";
import { describeCall } from "../../src/policy/describe.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { webServer } from "../support/web-server.ts";
import { toolkitWith } from "../support/workspace.ts";
import { plainText } from "../support/plain-text.ts";

const LONG = `<html><head><title>Guide</title></head><body><h1>Guide</h1>${"<p>some words</p>".repeat(600)}</body></html>`;

/** A site, and a toolkit of a user who has named it in the settings. */
async function site(options: ToolkitOptions = {}) {
  const at = await webServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://x");
    const type = (name: string) => response.setHeader("content-type", name);
    if (pathname === "/moved") return response.writeHead(301, { location: "/json" }).end();
    if (pathname === "/inside") return response.writeHead(302, { location: "http://127.0.0.1:9/" }).end();
    if (pathname === "/json") return type("application/json").end('{"a":[1,2]}');
    if (pathname === "/picture") return type("image/png").end(Buffer.alloc(2_048));
    if (pathname === "/gone") return response.writeHead(404, { "content-type": "text/html" }).end("<p>No such page");
    if (pathname === "/latin") return type("text/html; charset=iso-8859-1").end(Buffer.from("<p>caf\xe9", "latin1"));
    if (pathname === "/meta")
      return type("text/html").end(Buffer.from('<meta charset="shift_jis"><p>\x83\x65\x83\x58', "latin1"));
    if (pathname === "/wrong") return type("text/html; charset=klingon").end("<p>caf\u00e9");
    if (pathname === "/markdown") {
      if (request.headers.accept?.startsWith("text/markdown")) return type("text/markdown").end("# Given as *it* is");
      return type("text/html").end("<p>not asked for");
    }
    if (pathname === "/large") return type("text/plain").end("x".repeat(200_000));
    if (pathname === "/search" && request.url?.includes("q=nothing"))
      return type("application/json").end('{"results":[]}');
    if (pathname === "/search") {
      const hit = { title: "Hit", url: `http://${at}/json`, content: "A snippet" };
      return type("application/json").end(JSON.stringify({ results: Array.from({ length: 30 }, () => hit) }));
    }
    if (pathname === "/echo") {
      response.setHeader("set-cookie", "session=abc");
      let body = "";
      return request
        .on("data", (piece) => (body += piece))
        .on("end", () => type("text/plain").end(`${request.method}: ${body}`));
    }
    return type("text/html").end(LONG);
  });
  const network = { allowPrivate: [at], allowHosts: [at] };
  const asked: string[] = [];
  const toolkit = await toolkitWith({
    preset: "every",
    toolsets: { every: ["web_search", "web_fetch", "fetch_url", "http_request", "read"] },
    policy: { network },
    toolOptions: { web_search: { engine: { engine: "searxng", url: `http://${at}` } } },
    approver: async (call: CheckedCall) => {
      asked.push(describeCall(call));
      return { answer: "once" };
    },
    ...options,
  });
  const call = async (name: string, input: { readonly [name: string]: unknown }) =>
    plainText(await toolkit.call({ name, input }));
  return { at, toolkit, call, asked };
}

describe("web_fetch", () => {
  test.each([
    ["/moved", /^\{\n  "a": \[\n    1,\n    2\n  \]\n\}\n\[Redirected to: http:\/\/127.0.0.1:\d+\/json\]$/],
    [
      "/picture",
      /^\[Binary content \(image\/png, 2KB\) is not shown\. To get the file, download it with a command\.\]$/,
    ],
    ["/markdown", /^# Given as \*it\* is$/],
    ["/latin", /^caf\u00e9$/],
    ["/meta", /^テス$/],
    ["/wrong", /^caf\u00e9$/],
    ["/gone", /^Tool error: http:\S+\/gone answered 404 Not Found\n[^\n]*\nNo such page$/],
    ["/inside", /^URL not allowed by security policy: 127\.0\.0\.1 is a loopback address/],
  ])("of %s gives what is there, or why not", async (path, expected) => {
    const { at, call, asked } = await site();
    expect(await call("web_fetch", { url: `http://${at}${path}` })).toMatch(expected);
    expect(asked).toEqual([]);
  });

  test.each([
    [undefined, 51_200, "50KB"],
    [60_000, 60_000, "58.6KB"],
    [1, 1_024, "1KB"],
    [1_000_000, 102_400, "100KB"],
  ])("with max_bytes %s shows %i bytes", async (max_bytes, bytes, size) => {
    const { at, call } = await site();
    const text = await call("web_fetch", { url: `http://${at}/large`, ...(max_bytes !== undefined && { max_bytes }) });
    expect(/^x+/.exec(text)?.[0]).toHaveLength(bytes);
    expect(text).toContain(`[Output truncated at ${size}. Full output saved to: output://`);
  });

  test("truncates a long page, saves it whole, and shows people title, URL, size and time", async () => {
    const { at, call, toolkit } = await site();
    const text = await call("web_fetch", { url: `http://${at}/`, max_bytes: 10 });
    const id =
      /\n\[Output truncated at 1KB\. Full output saved to: output:\/\/(\S+)\]\n\[The whole text has [\d.]+KB\.\]$/.exec(
        text,
      )?.[1];
    expect(text.startsWith("# Guide\n\nsome words\n")).toBe(true);
    expect(await call("read", { path: `output://${id}`, offset: 1201 })).toContain("some words");
    const events: StoredEvent[] = [];
    for await (const event of toolkit.store.events()) events.push(event);
    const updates = events.flatMap((event) => (event.type === "call.updated" ? [event.update] : []));
    expect(updates.at(-1)).toMatchObject({
      displayMessage: expect.stringMatching(/^Guide \(http:.+\), [\d.]+KB in \d+ ms$/),
      data: { title: "Guide", url: `http://${at}/`, size: LONG.length, ms: expect.any(Number) },
    });
  });
});

test("fetch_url returns the first 8,000 characters of the body as it is", async () => {
  const { at, call } = await site();
  expect(await call("fetch_url", { url: `http://${at}/json` })).toBe('{"a":[1,2]}');
  expect(await call("fetch_url", { url: `http://${at}/` })).toBe(`${LONG.slice(0, 8_000)}...[truncated]`);
});

describe("http_request", () => {
  test("follows no redirects, and hides secrets in headers", async () => {
    const { at, call, asked } = await site();
    expect(await call("http_request", { url: `http://${at}/moved` })).toMatch(
      /^Status: 301 Moved Permanently\n\nResponse Headers:\nlocation: \/json\n/,
    );
    const text = await call("http_request", { url: `http://${at}/echo`, method: "post", body: "words" });
    expect(text).toContain("set-cookie: [redacted]");
    expect(text).toMatch(/Response Body:\nPOST: words$/);
    expect(asked).toEqual([`POST: http://${at}/echo (sending 5B: words)`]);
  });

  test("that needs approval sends nothing when nobody can be asked", async () => {
    const { at, toolkit } = await site();
    const alone = toolkit.with({ approver: async () => ({ answer: "refuse" }) });
    const result = await alone.call({ name: "http_request", input: { url: `http://${at}/echo`, method: "DELETE" } });
    expect(result.status).toBe("denied");
  });
});

test("web_search numbers its results, and makes their hosts known", async () => {
  const { at, call, toolkit } = await site();
  const text = await call("web_search", { query: "words", max_results: 99 });
  expect(text.startsWith(`1. Hit\n   http://${at}/json\n   A snippet\n\n2. Hit`)).toBe(true);
  expect(text.match(/^\d+\. /gm)).toHaveLength(20);
  expect(await call("web_search", { query: "nothing" })).toMatch(/^\[?No results found\./);
  const strict = {
    ...(await toolkit.judge([{ kind: "fetch", url: `http://${at}/?q=${"a".repeat(300)}`, method: "GET" }])),
  };
  expect(strict.verdict).toBe("allow");
});

test("a tool fetches what it declared or was permitted, and nothing after its call", async () => {
  const { at, toolkit } = await site();
  const { defineTool } = await import("../../src/core/contract/tool.ts");
  let late: (() => Promise<unknown>) | undefined;
  const curious = defineTool({
    name: "curious",
    description: "For a test.",
    input: {},
    touches: ["fetch"],
    run: async (_, { fetch }) => {
      late = () => fetch(`http://${at}/json`);
      await fetch("http://169.254.169.254/latest");
      return null;
    },
  });
  const result = await toolkit.with({ tools: [curious] }).call({ name: "curious", input: {} });
  expect(result).toMatchObject({
    status: "failed",
    message: expect.stringContaining("169.254.169.254 is a link-local"),
  });
  await expect(late?.()).rejects.toThrow('the call of "curious" has ended; it can no longer fetch');
});
