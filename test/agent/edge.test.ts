import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../src/core/contract/tool.ts";
import { createAgent } from "../../src/agent/agent.ts";
import { loadModel } from "../../src/agent/models/load.ts";
import { served } from "../tools/mcp/authority.ts";
import { toolkitWith } from "../support/workspace.ts";
import { calls, looking, ofType, resultsIn, scripted } from "./support.ts";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A provider's refusal, as the AI SDK throws it. */
const refusal = (statusCode: number, message: string) =>
  Object.assign(new Error(message), { statusCode, responseBody: JSON.stringify({ error: { message } }) });

const echo = looking("echo", async (input) => (input as { value?: string }).value ?? "");

describe("everything that is sent to a model", () => {
  test("has no half surrogate pair: instructions, prompts, definitions, results, replayed replies and arguments", async () => {
    const half = "half \ud83d";
    const odd = defineTool({
      ...{ name: "odd", description: half, touches: [], effects: () => [] },
      input: Type.Object({ value: Type.Optional(Type.String({ description: half })) }),
      run: async () => half,
    });
    const { agent, model } = await scripted(
      [{ text: half, calls: [{ name: "odd", input: { value: half } }] }, { text: half }],
      { toolkit: { tools: [odd] }, instructions: half },
    );
    await agent.send(half);
    await agent.send("again");
    expect(model.requests).toHaveLength(3);
    for (const { prompt, tools } of model.requests)
      expect(JSON.stringify({ prompt, tools })).not.toMatch(/\\ud[89a-f]/);
    expect(JSON.stringify(model.requests[2]?.prompt)).toContain("half \ufffd");
  });

  test("has the digits of a long integer in the arguments that are replayed", async () => {
    const { agent, model } = await scripted([calls({ name: "echo", input: '{"value":1917043659912705297}' })], {
      toolkit: { tools: [echo] },
    });
    await agent.send("Go");
    expect(JSON.stringify(model.requests[1]?.prompt)).toContain('"value":"1917043659912705297"');
    expect(Object.values(resultsIn(model.requests[1]!))).toEqual(["1917043659912705297"]);
  });

  test("has a picture only if its bytes are one", async () => {
    const { agent, model } = await scripted([]);
    const svg = Buffer.from("<svg/>").toString("base64");
    await agent.send([
      { type: "image", data: svg, mimeType: "image/png" },
      { type: "image", data: PNG, mimeType: "image/jpg" },
    ]);
    const files = model.requests[0]?.prompt.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter(({ type }) => type === "file"),
    );
    expect(files).toEqual([expect.objectContaining({ mediaType: "image/png", data: PNG })]);
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain("Image left out");
  });
});

test("a model that does not take a picture is asked once more without, and later turns have none", async () => {
  const fails = refusal(404, "No endpoints found that support image input");
  const { agent, model, events } = await scripted([{ fails }, { text: "I cannot see it." }, { text: "Yes." }]);
  const picture = { type: "image", data: PNG, mimeType: "image/png" } as const;
  const end = await agent.send([{ type: "text", text: "What is it?" }, picture]);
  expect(end).toMatchObject({ reason: "done", rounds: 1 });
  expect((await agent.send("Sure?")).reason).toBe("done");
  expect(model.requests.map(({ prompt }) => JSON.stringify(prompt).includes(PNG))).toEqual([true, false, false]);
  expect(JSON.stringify(model.requests[1]?.prompt)).toMatch(/What is it\?.*An image was here/);
  expect(ofType(events, "message").map(({ text }) => text)).toContainEqual(
    expect.stringMatching(/asked again without images/),
  );
});

test("a call that the limit of output cuts is answered so, and the calls before it run", async () => {
  const cut = { name: "echo", input: '{"value": "a long te' };
  const { agent, model } = await scripted(
    [{ calls: [{ name: "echo", input: { value: "whole" } }, cut], finish: "length" }, { text: "Shorter." }],
    { toolkit: { tools: [echo] } },
  );
  expect(await agent.send("Go")).toMatchObject({ reason: "done" });
  const results = Object.values(resultsIn(model.requests[1]!));
  expect(results.toSorted()).toEqual([expect.stringMatching(/limit of output.*several parts/), "whole"]);
  expect(JSON.stringify(results)).not.toContain("JSON");
});

test.each(["call_1", ""])("a call %j of Gemini in the OpenAI format is replayed with its signature", async (id) => {
  const requests: string[] = [];
  const url = await served((_, response, body) => {
    requests.push(body);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const call = { index: 0, id, type: "function", function: { name: "echo", arguments: '{"value":"one"}' } };
    const signed = { ...call, extra_content: { google: { thought_signature: "c2lnbmVk" } } };
    const first = requests.length === 1;
    const delta = first ? { role: "assistant", tool_calls: [signed] } : { role: "assistant", content: "Done." };
    const choices = [{ index: 0, delta, finish_reason: first ? "tool_calls" : "stop" }];
    response.end(`data: ${JSON.stringify({ id: "1", created: 1, model: "m", choices })}\n\ndata: [DONE]\n\n`);
  });
  const { model } = await loadModel({ provider: "openai-compatible", name: "gemini", baseUrl: url });
  const toolkit = await toolkitWith({ preset: "none", tools: [echo] });
  const agent = await createAgent({ model, toolkit });
  expect(await agent.send("Go")).toMatchObject({ reason: "done" });
  const { messages } = JSON.parse(requests[1] ?? "{}") as { messages: { role: string; tool_calls?: object[] }[] };
  const [replayed] = messages.find(({ role }) => role === "assistant")?.tool_calls ?? [];
  expect(replayed).toMatchObject({ extra_content: { google: { thought_signature: "c2lnbmVk" } } });
  expect(Object.keys(replayed ?? {}).toSorted()).toEqual(["extra_content", "function", "id", "type"]);
});

describe("a message that is larger than the context", () => {
  const long = "word ".repeat(4_000);

  test("is sent as it is, and the failure names it, with what to do", async () => {
    const fails = refusal(400, "prompt is too long: 9000 tokens > 4096 maximum");
    const { agent, model, events } = await scripted([{ fails }, { fails }, { fails }], { limits: { context: 2_000 } });
    expect(await agent.send(long)).toMatchObject({
      reason: "failed",
      message: expect.stringMatching(/Your message alone has 19\.5KB: send a shorter one, or put it in a file/),
    });
    expect(model.requests).toHaveLength(1);
    expect(ofType(events, "compacted")).toEqual([]);
  });

  test("is answered by a model that takes more than was known", async () => {
    const { agent, model } = await scripted([{ text: "Read." }], { limits: { context: 2_000 } });
    expect(await agent.send(long)).toMatchObject({ reason: "done" });
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain(long);
  });
});
