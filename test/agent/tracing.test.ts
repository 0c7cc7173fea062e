import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { context, trace } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { createAgent } from "../../src/agent/agent.ts";
import { startTracing } from "../../src/cli/tracing.ts";
import { plugin } from "../../src/tools/plugins/plugin.ts";
import { commandLine } from "../cli/program.ts";
import { connect } from "../connect/mcp/connection.ts";
import { withServers } from "../tools/mcp/servers.ts";
import { scriptedModel } from "../suites/scripted-model.ts";
import { afterFile } from "../support/after-file.ts";
import { temporaryFolder, toolkitWith } from "../support/workspace.ts";
import { calls, looking } from "./support.ts";

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: { readonly [type: string]: unknown } }[];
}

/** Gets spans as a collector does. */
async function collector() {
  const spans: Span[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      bodies.push(`${request.method} ${request.url} ${String(request.headers["x-key"])} ${body}`);
      const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
      for (const { scopeSpans } of resourceSpans) for (const each of scopeSpans) spans.push(...each.spans);
      response.end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterFile(() => void server.close());
  const find = (name: string) => {
    const span = spans.find((each) => each.name === name);
    if (span === undefined) throw new Error(`no span ${name}, only ${spans.map((each) => each.name).join()}`);
    return span;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies, find };
}

const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Traces what the work does, with the exporter of the command line. */
async function traced(work: () => Promise<unknown>) {
  const to = await collector();
  const tracing = startTracing(to.url, { OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b" });
  try {
    await work();
    expect(await tracing.end()).toBeUndefined();
  } finally {
    trace.disable();
    context.disable();
  }
  return to;
}

const startOf = async (toolkit: Awaited<ReturnType<typeof toolkitWith>>, name: string) => {
  for await (const event of toolkit.store.events({ types: ["call.started"] }))
    if (event.type === "call.started" && event.name === name) return event;
  throw new Error(`${name} was not called`);
};

describe("a trace", () => {
  test("has turns, requests, calls and waits for people, one below the other, and nothing that they contain", async () => {
    const secret = "what nobody else should read";
    const look = looking("look", async () => secret);
    const rest = { preset: "none", tools: [look], policy: { autonomy: "full" } } as const;
    const coder = scriptedModel([calls({ name: "look", input: { value: secret } }), { text: secret }]);
    const script = [
      { ...calls({ name: "delegate", input: { agent: "coder", prompt: secret } }), input: 70, output: 5 },
      calls({ name: "none", input: {} }),
      { text: secret },
    ];
    const toolkit = await toolkitWith(rest);
    const { spans, bodies, find } = await traced(async () => {
      const agent = await createAgent({ model: scriptedModel(script), toolkit, agents: { coder: { model: coder } } });
      await agent.send(secret);
      await agent.close();
    });
    const [turn, delegate, below, call] = [
      "invoke_agent",
      "execute_tool delegate",
      "invoke_agent coder",
      "execute_tool look",
    ].map(find);
    const chain = [turn, delegate, below, call];
    expect(chain.map((span) => span?.parentSpanId)).toEqual(["", turn?.spanId, delegate?.spanId, below?.spanId]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(
      spans.filter(({ name }) => name === "chat scripted").map(({ parentSpanId, kind }) => [parentSpanId, kind]),
    ).toEqual([
      [turn?.spanId, 3],
      [below?.spanId, 3],
      [below?.spanId, 3],
      [turn?.spanId, 3],
      [turn?.spanId, 3],
    ]);
    expect(attributesOf(turn!)).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "scripted",
      "gen_ai.usage.input_tokens": "70",
      "gen_ai.usage.output_tokens": "5",
      "handrail.turn.reason": "done",
    });
    expect(attributesOf(call!)).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "look",
      "gen_ai.agent.name": "coder",
      "handrail.status": "ok",
    });
    expect([find("execute_tool none").status.code, attributesOf(find("execute_tool none"))]).toMatchObject([
      2,
      { "error.type": "unknown-tool" },
    ]);
    expect(bodies.join()).not.toContain(secret);
    expect(bodies[0]).toMatch(/^POST \/v1\/traces a b /);
    expect((await startOf(toolkit, "look")).trace).toBe(`00-${call?.traceId}-${call?.spanId}-01`);
  });

  test("has how long a question was open, and continues a trace from outside", async () => {
    const above = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const { find } = await traced(async () => {
      const toolkit = await toolkitWith({ approver: async () => ({ answer: "refuse" }) });
      await toolkit.call({ name: "bash", input: { command: "touch x" }, trace: above });
    });
    const [call, wait] = [find("execute_tool bash"), find("handrail.approval")];
    expect([call.traceId, call.parentSpanId, wait.parentSpanId]).toEqual([
      "4bf92f3577b34da6a3ce929d0e0e4736",
      "00f067aa0ba902b7",
      call.spanId,
    ]);
    expect(attributesOf(wait)).toMatchObject({ "handrail.approval.answer": "refuse" });
    expect(attributesOf(call)).toMatchObject({ "error.type": "denied", "handrail.status": "denied" });
    expect(BigInt(wait.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(wait.startTimeUnixNano));
  });

  test("goes on to plugins and MCP servers, and comes from MCP clients", async () => {
    const folder = temporaryFolder();
    await writeFile(join(folder, "plugin.mjs"), PLUGIN);
    await writeFile(join(folder, "server.mjs"), SERVER);
    const told: unknown[] = [];
    const from = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const { spans } = await traced(async () => {
      const path = process.execPath;
      const program = plugin({ path, args: [join(folder, "plugin.mjs")], name: "told" });
      const own = await toolkitWith({ preset: "none", policy: { autonomy: "full" }, sources: [program] });
      await own.ready;
      told.push(await own.call({ name: "told", input: {} }));
      const server = { command: path, args: [join(folder, "server.mjs")], within: "none" } as const;
      const { toolkit } = await withServers({ peer: server });
      told.push(await toolkit.call({ name: "mcp__peer__told", input: {} }));
      const { client } = await connect("2025-11-25", { toolkit: { preset: "all" } });
      await client.callTool({ name: "time", arguments: {}, _meta: { traceparent: from } });
    });
    const all = spans.filter(({ name }) => name.startsWith("execute_tool"));
    const parentOf = ({ traceId, spanId }: Span) => `00-${traceId}-${spanId}-01`;
    expect(JSON.stringify(told[0])).toContain(parentOf(all[0]!));
    expect(JSON.stringify(told[1])).toContain(parentOf(all[1]!));
    expect([all[2]?.traceId, all[2]?.parentSpanId]).toEqual(from.split("-").slice(1, 3));
  });

  test("is neither made nor recorded without an SDK", async () => {
    const toolkit = await toolkitWith({ preset: "all" });
    await toolkit.call({ name: "time", input: {} });
    expect(await startOf(toolkit, "time")).not.toHaveProperty("trace");
  });
});

describe("the command line", () => {
  test("sends its traces where telemetry.traces says, and says in the end when it could not", async () => {
    const { here } = await commandLine();
    const { url, find } = await collector();
    const off = () => [trace.disable(), context.disable()];
    const command = ["call", "ls", "{}", "--preset", "readonly"];
    try {
      expect(await here(command, { HANDRAIL_TELEMETRY_TRACES: url })).toMatchObject({ code: 0, stderr: "" });
    } finally {
      off();
    }
    expect(attributesOf(find("execute_tool ls"))).toMatchObject({ "handrail.status": "ok" });
    try {
      const { code, stderr } = await here(command, { HANDRAIL_TELEMETRY_TRACES: "http://127.0.0.1:1" });
      expect(code).toBe(0);
      expect(stderr).toMatch(/^handrail: traces could not be sent to http:\/\/127\.0\.0\.1:1: /);
    } finally {
      off();
    }
  });
});

const PLUGIN = `
import { createInterface } from "node:readline";
const say = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, call_id, traceparent } = JSON.parse(line);
  if (type === "init") say({ type, tools: [{ name: "told", description: "Tells.", parameters: { type: "object" } }] });
  if (type === "call") say({ type: "result", call_id, content: [{ type: "text", text: String(traceparent) }] });
});
`;

const SERVER = `
import { createInterface } from "node:readline";
const capabilities = { tools: {} };
const inputSchema = { type: "object" };
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  if (method === "initialize")
    answer({ protocolVersion: params.protocolVersion, capabilities, serverInfo: { name: "peer", version: "1" } });
  else if (method === "tools/list") answer({ tools: [{ name: "told", inputSchema }] });
  else if (method === "tools/call") answer({ content: [{ type: "text", text: String(params._meta?.traceparent) }] });
  else if (id !== undefined)
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "none" } }) + "\\n");
});
`;
