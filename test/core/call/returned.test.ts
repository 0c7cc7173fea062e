// What a tool returns, and what a program passes as a call, are not always what their types say.
import { PassThrough } from "node:stream";
import { isCallToolResult } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import type { Content } from "../../../src/core/contract/content.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { jsonOf } from "../../../src/core/call/odd-part.ts";
import { asContent, asText } from "../../../src/core/call/result.ts";
import { serveStdio } from "../../../src/connect/mcp/serve.ts";
import { converse, envelope } from "../../connect/mcp/connection.ts";
import { toolkitWith } from "../../support/workspace.ts";

const PNG = "iVBORw0KGgo=";
const words: Content = { type: "text", text: "usable" };

/** A tool of a program without types. */
const odd = (more: { run?: unknown; render?: unknown; effects?: unknown }): Tool =>
  defineTool({ ...{ name: "odd", description: "-", input: {}, run: async () => "data" }, ...more } as never);

const rendered = (parts: unknown): Tool => odd({ render: () => parts });

const attaching = (part: unknown): Tool =>
  odd({ run: async (_: unknown, { attach }: { attach(part: unknown): void }) => (attach(part), "usable") });

type Row = [what: string, tool: Tool, fault: RegExp, lost?: "data"];

const ROWS: Row[] = [
  [
    "a part of an unknown type",
    rendered([{ type: "json", json: 1 }, words]),
    /part 1 has the type "json"; expected "text"/,
  ],
  ["a part without a type", rendered([words, { text: 5 }]), /part 2 has the type undefined/],
  ["null as a part", rendered([null, words]), /part 1 is null; expected an object/],
  ["a text as a part", rendered([words, "more"]), /part 2 is "more"; expected an object/],
  ["a text that is none", rendered([words, { type: "text" }]), /part 2 has the text undefined; expected a string/],
  [
    "a picture without data",
    rendered([words, { type: "image" }]),
    /part 2 has the data undefined; expected bytes in base64/,
  ],
  [
    "a picture of no base64",
    rendered([words, { type: "image", data: "<svg>", mimeType: "image/png" }]),
    /the data "<svg>"/,
  ],
  [
    "a sound of no base64",
    rendered([words, { type: "audio", data: "?", mimeType: "audio/wav" }]),
    /part 2 has the data "\?"/,
  ],
  ["a resource as MCP has it", rendered([words, { type: "resource", resource: { uri: "a:b" } }]), /the uri undefined/],
  ["bytes of no base64", rendered([words, { type: "resource", uri: "a:b", blob: "?" }]), /part 2 has the blob "\?"/],
  ["an attached part that is none", attaching({ type: "video" }), /part 2 has the type "video"/],
  [
    "an object in place of parts",
    odd({ run: async () => "usable", render: () => ({}) }),
    /rendered its result as \{\}; expected/,
  ],
  ["nothing in place of parts", odd({ run: async () => "usable", render: () => undefined }), /as undefined; expected/],
  [
    "a promise in place of parts",
    odd({ run: async () => "usable", render: async () => Promise.reject(new Error("no")) }),
    /as a Promise/,
  ],
  [
    "a rendering that fails",
    odd({ run: async () => "usable", render: () => JSON.parse("{") as never }),
    /could not render its result: /,
  ],
  [
    "data with a big integer",
    odd({ run: async () => ({ n: 1n }) }),
    /returned data that is not JSON: .*BigInt/,
    "data",
  ],
  ["a function", odd({ run: async () => () => 1 }), /returned data that is not JSON: function/, "data"],
];

test.each<Row>(ROWS)(
  "%s fails the call in a sentence that names the tool, and what can be read is kept",
  async (_, tool, fault, lost) => {
    const toolkit = await toolkitWith({ preset: "none", tools: [tool] });
    const text = asText(await toolkit.call({ name: "odd", input: {} }));
    expect(text).toMatch(/^Tool error: tool "odd" /);
    expect(text).toMatch(fault);
    expect(text).toContain("The tool has run");
    if (lost === undefined) expect(text).toContain("usable");
  },
);

test("a client of MCP reads every result of such tools", async () => {
  const extra = rendered([
    { ...words, annotations: { priority: 9 } },
    { type: "image", data: `data:;base64,${PNG}`, mimeType: 1 },
  ]);
  const tools = [...ROWS.map(([, tool]) => tool), extra].map((tool, index) => ({ ...tool, name: `odd${index}` }));
  const toolkit = await toolkitWith({ preset: "none", tools, policy: { autonomy: "full" } });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const service = serveStdio(toolkit, { stdin, stdout });
  const client = converse(stdin, stdout);
  for (const { name } of tools) {
    const { result } = await client.request("tools/call", { name, arguments: {}, _meta: envelope() });
    expect(isCallToolResult(result), `${name}: ${JSON.stringify(result)}`).toBe(true);
    expect(result.isError, name).toBe(name !== tools.at(-1)?.name);
  }
  await service.close();
});

test("what a failure carries is checked as well", async () => {
  for (const content of ["usable", [null, words], [{ type: "text" }, words], 5]) {
    const failing = odd({ run: () => Promise.reject(new ToolFailure("no", { content: content as never })) });
    const toolkit = await toolkitWith({ preset: "none", tools: [failing] });
    const result = await toolkit.call({ name: "odd", input: {} });
    expect(result).toMatchObject({ status: "failed", message: "no" });
    expect(asContent(result).isError).toBe(true);
  }
});

test("effects that are no list are a sentence", async () => {
  const toolkit = await toolkitWith({ preset: "none", tools: [odd({ effects: () => undefined })] });
  const text = asText(await toolkit.call({ name: "odd", input: {} }));
  expect(text).toBe('Tool error: tool "odd" declared its effects as undefined; expected a list');
});

/** A tool's work that rejects with anything. */
const throwing = (thrown: unknown) => async () => Promise.reject(thrown);

test("call never rejects, whatever it gets", async () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const getter = { get name(): string { throw new Error("a getter"); } }; // prettier-ignore
  const calls = [undefined, null, 5, "odd", [], {}, { name: null }, { name: "odd" }, { name: 5, input: 1n }, getter];
  const inputs = [circle, 1n, Symbol("s"), () => 1, new Map([[1, 2]]), "{", [[]]].map((input) => ({
    name: "odd",
    input,
  }));
  const texts = ["id", "thread", "parent", "agent", "turn", "trace"].map((key) => ({ name: "odd", [key]: { a: 1 } }));
  const thrown = [undefined, null, Symbol("s"), Object.create(null) as object, { message: 5 }];
  const failing = thrown.map((error, index) => ({ ...odd({ run: throwing(error) }), name: `t${index}` }));
  const toolkit = await toolkitWith({ preset: "none", tools: [odd({}), ...failing] });
  const given = [...calls, ...inputs, ...texts, ...failing.map(({ name }) => ({ name, input: {} }))];
  for (const request of given) {
    const result = await toolkit.call(request as { name: string; input: Json });
    expect(result.status).toMatch(/^(?:ok|failed|unknown-tool|invalid-input)$/);
    expect(typeof asText(result)).toBe("string");
  }
  for (const options of [null, 5, { signal: 5 }, { signal: null }, { onEvent: 5 }, { approver: 5 }])
    expect(await toolkit.call({ name: "odd", input: {} }, options as never)).toHaveProperty("status");
});

test("JSON for a model leaves out base64, also megabytes of it", () => {
  expect(jsonOf({ odd: "A".repeat(8_000_000) })).toBe('{"odd":"[8000000 characters of base64]"}');
});
