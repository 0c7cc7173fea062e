import { describe, expect, test } from "vitest";
import { createAccess } from "../../src/serve/access.ts";
import { MAX_BODY } from "../../src/serve/route.ts";
import { TOKEN, rawRequest, served } from "./served.ts";

describe("who may use the API", () => {
  test.for<[string, { readonly [name: string]: string }, number]>([
    ["the token", {}, 200],
    ["no token", { authorization: "" }, 401],
    ["a wrong token", { authorization: "Bearer wrong" }, 401],
    ["the token as a password", { authorization: `Basic ${TOKEN}` }, 401],
    ["the token as a cookie", { authorization: "", cookie: `handrail=${TOKEN}` }, 401],
    ["the host localhost", { host: "localhost:80" }, 200],
    ["a host of somebody's DNS", { host: "attacker.example:80" }, 421],
    ["an address that is not listened on", { host: "10.0.0.1" }, 421],
    ["a page of another site", { origin: "https://attacker.example" }, 403],
    ["a page in a sandboxed frame", { origin: "null" }, 403],
    ["a page of another port", { origin: "http://127.0.0.1:1" }, 403],
  ])("%s", async ([, headers, status]) => {
    const { url } = await server;
    const answer = await rawRequest(`${url}/api/threads`, { authorization: `Bearer ${TOKEN}`, ...headers });
    expect(answer.status, answer.text).toBe(status);
    if (status !== 200) expect(JSON.parse(answer.text)).toMatchObject({ status, title: expect.any(String) as string });
  });

  test("a page of a named origin may use the API with the token, and no other page may", async () => {
    const origin = "https://app.example.org";
    const { url } = await served({}, { origins: [origin] });
    const send = (from: string, path = "/api/threads", init: { method?: string; headers?: object } = {}) =>
      fetch(url + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, origin: from, ...init.headers } });
    const shared = ({ headers }: Response) => headers.get("access-control-allow-origin");
    const preflight = await send(origin, "/api/threads", { method: "OPTIONS", headers: { authorization: "" } });
    expect([preflight.status, shared(preflight)]).toEqual([204, origin]);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");
    const read = await send(origin);
    expect([read.status, shared(read), read.headers.get("vary")]).toEqual([200, origin, "origin"]);
    const cross = { "sec-fetch-site": "cross-site" };
    const made = await send(origin, "/api/threads", { method: "POST", headers: cross });
    expect([made.status, shared(made)]).toEqual([201, origin]);
    const unknown = await send(origin, "/api/threads", { headers: { authorization: "" } });
    expect([unknown.status, shared(unknown)]).toEqual([401, origin]);
    for (const answer of [read, preflight, unknown])
      expect(answer.headers.get("access-control-allow-credentials")).toBe(null);
    const others = [`${origin}.evil.example`, "http://app.example.org", `${origin}:444`, "null", "*", `${origin}/`];
    for (const other of others) {
      for (const method of ["GET", "OPTIONS"]) {
        const answer = await send(other, "/api/threads", { method });
        expect([answer.status, shared(answer)], other).toEqual([403, null]);
      }
    }
    expect((await send(origin, "/mcp", { method: "POST" })).status).toBe(403);
  });

  test("a question is answered by none of 40 forged senders", async () => {
    const { url } = await server;
    const hosts = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "[::2]", "127.0.0.2"];
    const origins = ["http://evil.example", "http://127.0.0.1.evil.example", "http://localhost:1", "https://127.0.0.1"];
    const tokens = [
      "",
      TOKEN.slice(1),
      `${TOKEN}x`,
      TOKEN.toUpperCase(),
      `${TOKEN} x`,
      "undefined",
      "null",
      "Bearer",
      "*",
    ];
    const forged: readonly { readonly [name: string]: string }[] = [
      ...hosts.map((host) => ({ host })),
      ...hosts.map((host) => ({ host: `${host}:${new URL(url).port}` })),
      ...[...origins, "null", "file://", "chrome-extension://abc", "http://[::1]:1"].map((origin) => ({ origin })),
      ...tokens.map((token) => ({ authorization: `Bearer ${token}` })),
      ...["Session", "Token", "Basic", "Digest"].map((scheme) => ({ authorization: `${scheme} ${TOKEN}` })),
      ...["cookie", "x-token", "x-authorization", "proxy-authorization", "x-forwarded-authorization"].map((name) => ({
        ...{ authorization: "", [name]: `Bearer ${TOKEN}` },
      })),
      ...[
        { authorization: "", "x-forwarded-for": "127.0.0.1" },
        { authorization: "", "x-original-url": "/" },
      ],
    ];
    expect(forged).toHaveLength(40);
    for (const headers of forged) {
      const sent = { authorization: `Bearer ${TOKEN}`, ...headers };
      const { status, text } = await rawRequest(`${url}/api/approvals`, sent);
      expect([401, 403, 421], `${JSON.stringify(headers)}: ${text}`).toContain(status);
    }
  });

  test.for(["/?token=", "//attacker.example/?token=", "//attacker.example/%2f..?token="])(
    "%s sets no cookie and redirects nowhere: the page begins a session",
    async (path) => {
      const { url } = await server;
      const answer = await fetch(`${url}${path}${TOKEN}`, { redirect: "manual" });
      expect(answer.headers.get("location")).toBe(null);
      expect(answer.headers.get("set-cookie")).toBe(null);
      expect(answer.status).toBe(path.startsWith("//") ? 401 : 200);
    },
  );

  test("if other machines may connect, an IP address is accepted as the host, a name only with a certificate", () => {
    const from = (host: string) => new Request("http://x/", { headers: { host } });
    const access = createAccess({ token: TOKEN, host: "0.0.0.0", isCertified: (name) => name === "box.lan" });
    expect(() => access.checkSource(from("192.168.1.5:80"))).not.toThrow();
    expect(() => access.checkSource(from("[fe80::1]:80"))).not.toThrow();
    expect(() => access.checkSource(from("box.lan:80"))).not.toThrow();
    expect(() => access.checkSource(from("attacker.example"))).toThrow(/host/);
  });

  test("an empty or short token is refused before anything is served", () => {
    expect(() => createAccess({ token: "", host: "127.0.0.1" })).toThrow(/at least 16 characters/);
  });
});

describe("a request that does not fit gets a problem document", () => {
  const json = { "content-type": "application/json" };
  test.for<[string, string, string, RequestInit, number, RegExp]>([
    ["an unknown path", "GET", "/api/nothing", {}, 404, /openapi\.json/],
    ["an unknown thread", "GET", "/api/threads/none/messages", {}, 404, /GET \/api\/threads/],
    ["a wrong method", "DELETE", "/api/threads", {}, 405, /GET, POST/],
    ["a query that does not fit", "GET", "/api/threads/main/messages?after=x", {}, 400, /after/],
    [
      "no content type",
      "POST",
      "/api/threads/main/calls",
      { body: new Uint8Array([0x7b, 0x7d]) },
      415,
      /application\/json/,
    ],
    ["no JSON", "POST", "/api/threads/main/calls", { body: "{", headers: json }, 400, /not JSON/],
    ["no body, which counts as {}", "POST", "/api/threads/main/calls", {}, 400, /name/],
    ["a body that does not fit", "POST", "/api/threads/main/calls", { body: "{}", headers: json }, 400, /name/],
    [
      "a body that is too large",
      "POST",
      "/api/threads",
      { body: " ".repeat(MAX_BODY + 1), headers: json },
      413,
      /1048576/,
    ],
  ])("%s", async ([, method, path, init, status, detail]) => {
    const { ask } = await server;
    const answer = await ask(method, path, undefined, init);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(await answer.json()).toMatchObject({ status, detail: expect.stringMatching(detail) as string });
    expect(answer.status).toBe(status);
  });
});

const server = served({ preset: "none" });
