import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../../src/core/contract/activity.ts";
import type { Policy } from "../../../src/core/contract/policy.ts";
import type { Toolkit } from "../../../src/core/contract/toolkit.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { type ServeStdioOptions, serveStdio } from "../../../src/connect/mcp/serve.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";
import { ERAS, type Message, converse, envelope } from "./connection.ts";

const call = { name: "bash", arguments: { command: "touch mark; echo run" }, _meta: envelope({ elicitation: {} }) };
const answered = (requestState: string) => ({
  ...call,
  requestState,
  inputResponses: { approval: { action: "accept", content: { answer: "once" } } },
});

async function serving(options: ServeStdioOptions = {}) {
  const toolkit = await toolkitWith({ workDir: await workspace() });
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const service = serveStdio(toolkit, { ...options, stdin, stdout });
  return { toolkit, stdin, service, client: converse(stdin, stdout) };
}

async function untilFinished(toolkit: Toolkit): Promise<StoredEvent> {
  for await (const event of toolkit.store.events({ follow: true })) {
    if (event.type === "call.finished") return event;
  }
  throw new Error("the store was closed before the call had finished");
}

test("streams can be passed, and their end closes the service but not the toolkit", async () => {
  const { toolkit, stdin, service, client } = await serving();
  const { result } = await client.request("tools/list", { _meta: envelope() });
  expect(result.tools).toHaveLength(5);
  stdin.end();
  await service.closed;
  expect(await toolkit.call({ name: "no-such-tool", input: {} })).toMatchObject({ status: "unknown-tool" });
});

test("calls that run at the end of stdin are answered, also one whose line has no end", async () => {
  const { stdin, service, client } = await serving();
  const slow = { name: "bash", arguments: { command: "sleep 0.5; echo slow" }, _meta: envelope() };
  client.send({ id: 1, method: "tools/call", params: slow });
  const quick = { ...slow, arguments: { command: "echo quick" } };
  stdin.end(JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: quick }));
  await service.closed;
  const answers = client.lines
    .map((line) => JSON.parse(line) as Message)
    .sort((one, other) => (one.id ?? 0) - (other.id ?? 0));
  expect(answers).toMatchObject([
    { id: 1, result: { content: [{ text: "slow\n" }] } },
    { id: 2, result: { content: [{ text: "quick\n" }] } },
  ]);
});

test("the end of stdin refuses what a person is asked, and waits for no answer of theirs", async () => {
  const { stdin, service, client } = await serving({ finishMs: 100_000 });
  const capabilities = { elicitation: {} };
  const params = { protocolVersion: "2025-06-18", capabilities, clientInfo: { name: "raw", version: "1" } };
  await client.request("initialize", params);
  client.send({ id: 1, method: "tools/call", params: { name: "bash", arguments: { command: "touch mark" } } });
  await client.take("the question", ({ method }) => method === "elicitation/create");
  client.send({ id: 2, method: "tools/call", params: { name: "bash", arguments: { command: "touch mark" } } });
  stdin.end();
  await service.closed;
  const answers = client.lines.map((line) => JSON.parse(line) as Message);
  for (const each of [1, 2])
    expect(answers.find(({ id, method }) => id === each && method === undefined)).toHaveProperty(
      "result.isError",
      true,
    );
});

test("closing the service closes the toolkit if requested, once", async () => {
  const { toolkit, service } = await serving({ closeToolkit: true });
  await Promise.all([service.close(), service.close()]);
  await service.closed;
  expect(await toolkit.call({ name: "read", input: {} })).toMatchObject({
    status: "failed",
    message: "the toolkit is closed",
  });
});

test("a call that nobody approves in time is stopped, and its state becomes invalid", async () => {
  const { toolkit, client, service } = await serving({ answerWithinMs: 20 });
  const { result } = await client.request("tools/call", call);
  expect(await untilFinished(toolkit)).toMatchObject({ status: "aborted" });
  expect(await client.request("tools/call", answered(result.requestState))).toMatchObject({
    error: { code: -32602, message: expect.stringContaining("has expired") as string },
  });
  await service.close();
});

test("a call that waits for an approval stops when the client cancels the request", async () => {
  const { toolkit, client, service } = await serving();
  client.send({ id: 1, method: "tools/call", params: call });
  const { result } = await client.take("the question", ({ id }) => id === 1);
  client.send({ method: "notifications/cancelled", params: { requestId: 1 } });
  expect(await untilFinished(toolkit)).toMatchObject({ status: "aborted" });
  expect(await client.request("tools/call", answered(result.requestState))).toMatchObject({ error: { code: -32602 } });
  await service.close();
});

test("a call that waits for an approval is stopped when the connection ends", async () => {
  const { toolkit, client, service } = await serving();
  await client.request("tools/call", call);
  await service.close();
  expect(await untilFinished(toolkit)).toMatchObject({ status: "aborted" });
});

test("a call that is answered after the toolkit was closed ends as stopped", async () => {
  const { toolkit, client, service } = await serving();
  const { result } = await client.request("tools/call", call);
  await toolkit.close();
  const { result: late } = await client.request("tools/call", answered(result.requestState));
  expect(late).toMatchObject({ isError: true, content: [{ text: "The call was stopped before it finished." }] });
  await service.close();
});

test("a slow client gets the newest progress, then the result, and nothing after it", async () => {
  const counting = defineTool({
    name: "counting",
    description: "Counts.",
    touches: [],
    input: {},
    effects: () => [],
    run: async (_, { report }) => {
      for (let count = 1; count <= 1_000; count += 1) report({ displayMessage: String(count) });
      return null;
    },
  });
  const toolkit = await toolkitWith({ tools: [counting] });
  const stdin = new PassThrough();
  const stdout = new PassThrough({ highWaterMark: 1 });
  const service = serveStdio(toolkit, { stdin, stdout });
  const params = { name: "counting", arguments: {}, _meta: { ...envelope(), progressToken: 5 } };
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
  await untilFinished(toolkit);
  const client = converse(stdin, stdout);
  await client.take("the result", ({ id }) => id === 1);
  await client.request("tools/list", { _meta: envelope() });
  expect(client.lines.map((line) => (JSON.parse(line) as Message).params?.["message"])).toEqual([
    "1",
    "1000",
    undefined,
    undefined,
  ]);
  await service.close();
});

test.each(ERAS)("a call that is not judged or answered yet delays no other (%s)", async (era) => {
  let decideSlow: () => void = () => undefined;
  const slow = new Promise<void>((resolve) => (decideSlow = resolve));
  const slowPolicy: Policy = async ({ effects }) => {
    const isSlow = effects.some((effect) => effect.kind === "exec" && effect.command.includes("slow"));
    if (isSlow) await slow;
    return undefined;
  };
  const toolkit = await toolkitWith({ workDir: await workspace({ "a.txt": "alpha\n" }), policies: [slowPolicy] });
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const service = serveStdio(toolkit, { stdin, stdout });
  const client = converse(stdin, stdout);
  const forms = { elicitation: { form: {} } };
  const isModern = era === "2026-07-28";
  if (!isModern) {
    const params = { protocolVersion: era, capabilities: forms, clientInfo: { name: "raw", version: "1" } };
    await client.request("initialize", params);
  }
  const request = (name: string, args: object) =>
    client.request("tools/call", { name, arguments: args, ...(isModern && { _meta: envelope(forms) }) });
  const judged = request("bash", { command: "echo slow" });
  const asked = request("bash", { command: "touch asked" });
  // The person never answers, whether asked by a request or in the answer to one.
  if (isModern) expect((await asked).result).toMatchObject({ resultType: "input_required" });
  else await client.take("the question", ({ method }) => method === "elicitation/create");
  for (const [name, args] of [
    ["bash", { command: "echo quick" }],
    ["read", { path: "a.txt" }],
    ["write", { path: "b.txt", content: "beta\n" }],
  ] as const) {
    expect((await request(name, args)).result).toMatchObject({ isError: false });
  }
  decideSlow();
  expect((await judged).result).toMatchObject({ isError: false, content: [{ text: "slow\n" }] });
  await service.close();
});

test("calls belong to the given thread", async () => {
  const { toolkit, client, service } = await serving({ thread: "editor" });
  await client.request("tools/call", { ...call, name: "no-such-tool" });
  expect(await untilFinished(toolkit)).toMatchObject({ thread: "editor" });
  await service.close();
});

test("lines that are not messages are reported to onError", async () => {
  const errors: Error[] = [];
  const { client, service } = await serving({ onError: (error) => errors.push(error) });
  client.send('{"neither":"request","nor":"answer"}\n');
  await client.request("tools/list", { _meta: envelope() });
  expect(errors).toHaveLength(1);
  await service.close();
});
