// Servers whose answers are odd in a part, cut, or refused: what came is used, and a call ends soon.
import { describe, expect, test } from "vitest";
import { plainText } from "../../support/plain-text.ts";
import { json } from "./authority.ts";
import { type Odd, odd, tool } from "./odd-server.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const words = { type: "text", text: "usable" };

test.each<[what: string, result: unknown, shown: RegExp]>([
  [
    "a part of an unknown type",
    { content: [{ type: "json", json: { a: 1 } }, words] },
    /has run.*"json":\{"a":1\}.*usable/s,
  ],
  ["an unknown type with a text", { content: [{ type: "error", text: "usable" }] }, /^usable$/],
  ["odd annotations", { content: [{ ...words, annotations: { priority: 5 } }] }, /^usable$/],
  [
    "null for what is absent",
    { content: [{ ...words, annotations: null, _meta: null }], _meta: null, isError: null, structuredContent: null },
    /^usable$/,
  ],
  [
    "a resource without a type of its uri",
    { content: [{ type: "resource", resource: { uri: 5, text: "usable" } }] },
    /^usable$/,
  ],
  [
    "a resource without contents",
    { content: [{ type: "resource", resource: null }, words] },
    /"resource":null.*usable/s,
  ],
  ["a link without a name", { content: [{ type: "resource_link", uri: "a://b" }] }, /^\[Resource a:\/\/b: a:\/\/b\]$/],
  ["a text that is an object", { content: [{ type: "text", text: { a: 1 } }, words] }, /^\{"a":1\}\nusable$/],
  ["parts that are texts", { content: ["one", words] }, /^one\nusable$/],
  ["parts that are numbers and null", { content: [5, null, words] }, /^5\nnull\nusable$/],
  ["one part in place of a list", { content: words }, /^usable$/],
  ["a text in place of a list", { content: "usable" }, /^usable$/],
  ["null in place of a list", { content: null }, /has run/],
  ["no content", {}, /has run/],
  ["null in place of the result", null, /has run/],
  ["a text in place of the result", "usable", /^usable$/],
  ["a list in place of the result", [words], /^usable$/],
  ["fields of its own", { output: "usable" }, /^\{"output":"usable"\}$/],
  [
    "a picture that is not base64",
    { content: [{ type: "image", data: "?".repeat(9), mimeType: "image/png" }, words] },
    /\?{9}.*usable/s,
  ],
  ["data in a list", { content: [words], structuredContent: [{ a: 42 }] }, /^usable\n\[\{"a":42\}\]$/],
  [
    "data that its text only names",
    { content: [words], structuredContent: { rows: ["row 7"] } },
    /^usable\n\{"rows":\["row 7"\]\}$/,
  ],
  [
    "data that its text repeats",
    { content: [{ type: "text", text: "row 7: 5" }], structuredContent: { rows: ["row 7", 5] } },
    /^row 7: 5$/,
  ],
])("a result with %s reaches the model", async (_, result, shown) => {
  const { call } = await odd({ result });
  const got = await call();
  expect(plainText(got)).toMatch(shown);
  expect(got.status).toBe("ok");
});

test("a picture as a data URL, or without a type, is a picture", async () => {
  const content = [
    { type: "image", data: `data:image/png;base64,${PNG}`, mimeType: "image/png" },
    { type: "image", data: PNG },
    { type: "resource", resource: { uri: "a://b", blob: `data:image/png;base64,${PNG}` } },
  ];
  const { call } = await odd({ result: { content } });
  const image = { type: "image", mimeType: "image/png", data: PNG };
  expect(await call()).toMatchObject({ status: "ok", content: [image, image, image] });
});

test.each<[what: string, answer: object, shown: RegExp]>([
  ["an id that is a text", { jsonrpc: "2.0", id: "ID", result: { content: [words] } }, /^usable$/],
  ["no version and null for an error", { id: "ID", result: { content: [words] }, error: null }, /^usable$/],
  ["an error that is a text", { jsonrpc: "2.0", id: "ID", error: "out of paper" }, /out of paper/],
  [
    "an error without an id",
    { jsonrpc: "2.0", id: null, error: { code: -32_603, message: "out of paper" } },
    /out of paper/,
  ],
  [
    "an error with the code of HTTP as a text",
    { jsonrpc: "2.0", id: "ID", error: { code: "500", message: "no paper" } },
    /no paper/,
  ],
])("an answer with %s is an answer, as JSON and as an event", async (_, answer, shown) => {
  const withId = (id: number) => JSON.stringify(answer).replace('"ID"', JSON.stringify(String(id)));
  for (const type of ["application/json", "text/event-stream"]) {
    const { call } = await odd({
      onCall(response, id) {
        response.writeHead(200, { "content-type": type });
        response.end(type === "application/json" ? withId(id) : `data: ${withId(id)}\n\n`);
      },
    });
    expect(plainText(await call())).toMatch(shown);
  }
});

const EVENTS = { "content-type": "text/event-stream" };

test.each<[what: string, onCall: NonNullable<Odd["onCall"]>]>([
  ["a stream that ends", (response) => response.writeHead(200, EVENTS).end(": hello\n\n")],
  [
    "a stream that is cut",
    (response) => void response.writeHead(200, EVENTS).write(": hello\n\n", () => response.destroy()),
  ],
  ["status 202", (response) => response.writeHead(202).end()],
  ["an empty body", (response) => response.writeHead(200, { "content-type": "application/json" }).end()],
  ["half an answer", (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"jsonrpc":')],
  ["the answer to another request", (response, id) => json(response, 200, { jsonrpc: "2.0", id: id + 7, result: {} })],
])("a call whose response is %s fails at once, and its effect is unknown", async (_, onCall) => {
  const { call } = await odd({ onCall });
  const begun = performance.now();
  expect(plainText(await call())).toMatch(/Whether the call took effect is unknown/);
  expect(performance.now() - begun).toBeLessThan(20_000); // the call itself may take 30 s
});

describe("a server that has lost its session", () => {
  test.each<[status: number, words: string]>([
    [404, "Session not found"],
    [400, "Bad Request: No valid session ID provided"],
    [401, "Unknown session"],
  ])("with status %i makes each of several calls in a new one, and only one is opened", async (...lost) => {
    const { call, forget, opened, calls, notices } = await odd({ lost, result: { content: [words] } });
    await call();
    forget();
    const results = await Promise.all([call(), call(), call()]);
    expect(results.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
    expect([opened(), calls()]).toEqual([2, 4]);
    expect(notices).toEqual(["mcp:odd has ended: it has lost the session. It is being restarted."]);
  });

  test("and does not say so gets a new one for later calls; the refused one is not repeated", async () => {
    const { call, forget, calls } = await odd({ lost: [400, "Bad Request"], result: { content: [words] } });
    await call();
    forget();
    expect(plainText(await call())).toMatch(/HTTP 400/);
    expect(await call()).toMatchObject({ status: "ok" });
    expect(calls()).toBe(2);
  });

  test("is not given up for calls that it refuses", async () => {
    const { call } = await odd({ onCall: (response) => json(response, 400, { error: "bad arguments" }) });
    for (let each = 0; each < 10; each++) expect(plainText(await call())).toMatch(/HTTP 400.*bad arguments/s);
  });

  test("still answers what it has begun", async () => {
    let finish: () => void = () => {};
    let begun: () => void = () => {};
    const waiting = new Promise<void>((resolve) => (begun = resolve));
    const answered = { content: [words] };
    let count = 0;
    const { call, forget } = await odd({
      onCall(response, id) {
        const answer = () => json(response, 200, { jsonrpc: "2.0", id, result: answered });
        if (count++ > 0) return answer();
        finish = answer;
        begun();
      },
    });
    const first = call();
    await waiting;
    forget();
    expect(await call()).toMatchObject({ status: "ok" });
    finish();
    expect(await first).toMatchObject({ status: "ok" });
  });
});

test.each<[what: string, outputSchema: unknown]>([
  ["no type", { $id: "x.v1", description: "d" }],
  ["a union", { anyOf: [{ type: "object" }, { type: "array" }] }],
  ["a list", { type: "array", items: {} }],
  ["nothing", {}],
  ["null", null],
  ["no schema", "text"],
  ["a dangling reference", { type: "object", properties: { a: { $ref: "#/$defs/none" } } }],
  ["an unknown type", { type: "object", properties: { a: { type: "text" } } }],
  ["too many levels", JSON.parse(`${'{"type":"object","properties":{"a":'.repeat(70)}{}${"}}".repeat(70)}`)],
])("an output schema of %s costs no tool, and no result", async (_, outputSchema) => {
  const { names, call, notices } = await odd({
    list: () => ({ tools: [tool("good"), tool("work", { outputSchema })] }),
    result: { content: [words], structuredContent: { a: 1 } },
  });
  expect(names()).toEqual(["good", "work"]);
  expect(await call()).toMatchObject({ status: "ok" });
  expect(notices).toEqual([]);
});

test("what is odd in a tool is left out, and a tool without a name", async () => {
  const listed = [
    tool("work", { annotations: null, title: 5, description: null, icons: "none", _meta: [] }),
    { name: "bare", inputSchema: { properties: { a: { type: "string" } } } },
    { inputSchema: { type: "object" } },
    null,
  ];
  const { names, notices } = await odd({ list: () => ({ tools: listed, _meta: null, nextCursor: null }) });
  expect(names()).toEqual(["work", "bare"]);
  expect(notices).toHaveLength(2);
  expect(notices[0]).toMatch(/^mcp:odd: the tool without a name is left out: name/);
});

const pages =
  (count: number, cursorAfter: (page: number) => string | null | undefined) => (cursor: string | undefined) => {
    const page = cursor === undefined ? 0 : Number(cursor);
    return {
      tools: [tool(`t${page}`)],
      nextCursor: cursorAfter(page) ?? (page + 1 < count ? String(page + 1) : undefined),
    };
  };

test.each<[what: string, list: NonNullable<Odd["list"]>, tools: number, notice?: RegExp]>([
  ["150 pages", pages(150, () => undefined), 150],
  ["an empty last cursor, which is its first page", pages(2, (page) => (page === 1 ? "" : undefined)), 2],
  ["null as its last cursor", pages(2, (page) => (page === 1 ? null : undefined)), 2],
  [
    "an empty cursor for its second page",
    (at) => ({ tools: [tool(at === "" ? "b" : "a")], ...(at !== "" && { nextCursor: "" }) }),
    2,
  ],
  ["one page again and again", () => ({ tools: [tool("a"), tool("b")], nextCursor: "again" }), 2],
  ["one page under ever new cursors", (at = "0") => ({ tools: [tool("a")], nextCursor: String(Number(at) + 1) }), 1],
  ["a circle of pages", (at = "0") => ({ tools: [tool(`t${at}`)], nextCursor: String((Number(at) + 1) % 3) }), 3],
  [
    "a page that fails",
    (at) =>
      at === undefined
        ? { tools: [tool("a")], nextCursor: "1" }
        : { error: { code: -32_602, message: "Invalid cursor" } },
    1,
    /has no page after the last that came: Invalid cursor/,
  ],
  ["pages without end", pages(Infinity, () => undefined), 500, /more than 500 pages/],
])("the tools of a server with %s are usable", async (_, list, tools, notice) => {
  const { names, notices } = await odd({ list });
  expect(names()).toHaveLength(tools);
  expect(notices.join("\n")).toMatch(notice ?? /^$/);
});
