import { createOpenAI } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { LLMock } from "@copilotkit/aimock";
import { generateText, stepCountIs, streamText } from "ai";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aiSdk } from "../../../src/connect/adapters/ai-sdk.ts";
import { anthropic, claudeAgent } from "../../../src/connect/adapters/anthropic.ts";
import { openAi } from "../../../src/connect/adapters/openai.ts";
import type { Toolkit } from "../../../src/core/contract/toolkit.ts";
import type { ToolSourceHost } from "../../../src/core/contract/tool-source.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

// Results and tools are not cast: that the clients take tools and results is checked by the compiler.

const mock = new LLMock({ port: 0 });
beforeAll(async () => {
  await mock.start();
  /** Answers a prompt that contains a text with calls. */
  const on = (prompt: RegExp, calls: (found: readonly string[]) => readonly [string, object][]) => {
    const foundIn = ({ messages }: { messages: { role: string; content: unknown }[] }) =>
      prompt.exec(messages.at(-1)?.role === "user" ? JSON.stringify(messages.at(-1)?.content) : "");
    mock.addFixture({
      match: { predicate: (request) => foundIn(request) !== null },
      response: (request) => ({
        toolCalls: calls(foundIn(request) ?? []).map(([name, input]) => ({ name, arguments: JSON.stringify(input) })),
      }),
    });
  };
  on(/Write (\d+) to g\.txt/, ([, number]) => [
    ["bash", { command: `sleep 0.01; echo ${number} > g.txt` }],
    ["read", { path: "g.txt" }],
  ]);
  on(/Say hello/, () => [["hello", {}]]);
  on(/Count slowly/, () => [["bash", { command: "echo counting; sleep 0.5; echo counted" }]]);
  mock.addFixture({
    match: { predicate: ({ messages }) => !messages.some(({ role }) => role === "tool") },
    response: {
      toolCalls: [
        { name: "read", arguments: '{"path":"logo.png","offset":null}', id: "call_1" },
        { name: "read", arguments: '{"path":"none.txt"}', id: "call_2" },
      ],
    },
  });
  mock.addFixture({ match: { predicate: () => true }, response: { content: "It is a dot." } });
});
afterAll(() => mock.stop());

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const open = async () =>
  toolkitWith({ preset: "readonly", workDir: await workspace({ "logo.png": Buffer.from(DOT, "base64") }) });
const prompt = "What is on logo.png?";

test("responses of OpenAI get the results of all calls, with images in them", async () => {
  const client = new OpenAI({ apiKey: "test", baseURL: `${mock.url}/v1` });
  const hand = openAi(await open());
  const [model, tools] = ["gpt-5", hand.tools ?? []];
  const asked = await client.responses.create({ model, tools, input: prompt });
  const results = await hand.results(asked);
  expect(results).toMatchObject([
    {
      call_id: "call_1",
      output: [{ type: "input_text" }, { type: "input_image", image_url: expect.stringMatching(DOT) as string }],
    },
    { call_id: "call_2", output: expect.stringContaining("Tool error: ") as string },
  ]);
  const made = asked.output.filter((item) => item.type === "function_call");
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: prompt }, ...made, ...results];
  expect((await client.responses.create({ model, tools, input })).output_text).toBe("It is a dot.");
});

test("chat completions of OpenAI get the results of all calls, and their images in a message of the user", async () => {
  const client = new OpenAI({ apiKey: "test", baseURL: `${mock.url}/v1` });
  const hand = openAi(await open());
  const [model, tools] = ["gpt-5", hand.chatTools ?? []];
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: prompt }];
  const message = (await client.chat.completions.create({ model, tools, messages })).choices[0]?.message;
  const results = await hand.chatResults(message!);
  expect(results).toMatchObject([
    { role: "tool", tool_call_id: "call_1" },
    { role: "tool", tool_call_id: "call_2" },
    {
      role: "user",
      content: [{ type: "text" }, { type: "image_url", image_url: { url: `data:image/png;base64,${DOT}` } }],
    },
  ]);
  messages.push(message!, ...results);
  expect((await client.chat.completions.create({ model, tools, messages })).choices[0]?.message.content).toBe(
    "It is a dot.",
  );
});

test("a custom tool call of OpenAI gets a result of its kind, whatever its input is", async () => {
  const hand = openAi(await open());
  const [name] = hand.tools?.map((tool) => tool.name) ?? [];
  const made = [
    { type: "custom_tool_call" as const, call_id: "call_1", name: name!, input: "free text" },
    { type: "custom_tool_call" as const, call_id: "call_2", name: "no_tool", input: "" },
    { type: "reasoning" },
  ];
  const output = expect.any(String) as string;
  expect(await hand.results({ output: made })).toEqual([
    { type: "custom_tool_call_output", call_id: "call_1", output },
    { type: "custom_tool_call_output", call_id: "call_2", output: expect.stringMatching(/unknown tool/) as string },
  ]);
  const chat = [{ type: "custom" as const, id: "call_3", custom: { name: "no_tool", input: "free text" } }];
  expect(await hand.chatResults({ tool_calls: chat })).toMatchObject([{ role: "tool", tool_call_id: "call_3" }]);
});

test("Anthropic's own loop runs the tools, and images are in their results", async () => {
  const client = new Anthropic({ apiKey: "test", baseURL: mock.url });
  const tools = anthropic(await open()).runnableTools;
  const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: "user", content: prompt }];
  const runner = client.beta.messages.toolRunner({ model: "claude-opus-4-5", max_tokens: 1_000, tools, messages });
  const last = await runner;
  expect(last.content).toMatchObject([{ type: "text", text: "It is a dot." }]);
  expect(JSON.stringify(runner.params.messages)).toContain(DOT);
});

const client6 = () => createOpenAI({ apiKey: "test", baseURL: `${mock.url}/v1` })("gpt-5");
/** The loops that have one in their own: each makes the calls of one reply at the same time. */
const LOOPS: { readonly [name: string]: (toolkit: Toolkit) => (prompt: string) => Promise<unknown> } = {
  "generateText of AI SDK 6": (toolkit) => {
    const { tools } = aiSdk(toolkit);
    return (text) => generateText({ model: client6(), tools, prompt: text, stopWhen: stepCountIs(5) });
  },
  "streamText of AI SDK 6": (toolkit) => {
    const { tools } = aiSdk(toolkit);
    return async (text) => streamText({ model: client6(), tools, prompt: text, stopWhen: stepCountIs(5) }).text;
  },
  "toolRunner of Anthropic": (toolkit) => {
    const client = new Anthropic({ apiKey: "test", baseURL: mock.url });
    const tools = anthropic(toolkit).runnableTools;
    return async (content) => {
      const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: "user", content }];
      await client.beta.messages.toolRunner({ model: "claude-opus-4-5", max_tokens: 1_000, tools, messages });
    };
  },
};

test.each(Object.keys(LOOPS))(
  "%s makes calls of one reply that touch one path in order, 30 of 30 times",
  async (name) => {
    const toolkit = await toolkitWith({ workDir: await workspace(), policy: { autonomy: "full" } });
    const turn = LOOPS[name]!(toolkit);
    for (let time = 0; time < 30; time++) await turn(`Write ${time} to g.txt, and look at it.`);
    const pairs = Array.from({ length: 30 }, (_, time) => ["(no output)", `${time}\n`]);
    expect(await textsOf(toolkit)).toEqual(pairs.flat());
  },
);

test.each(Object.keys(LOOPS))("%s has a tool that started after its tools were given to it", async (name) => {
  let late: ToolSourceHost | undefined;
  const source = {
    name: "plugin:late",
    start: async (host: ToolSourceHost) => void (late = host),
    close: async () => {},
  };
  const toolkit = await toolkitWith({ workDir: await workspace(), sources: [source] });
  const turn = LOOPS[name]!(toolkit);
  await toolkit.ready;
  late?.set([defineTool({ name: "hello", description: "Says hello.", input: {}, run: async () => "Hello!" })]);
  await turn("Say hello.");
  expect(await textsOf(toolkit)).toEqual(["Hello!"]);
});

test("the server for the Claude Agent SDK reports that its tools have changed", async () => {
  let late: ToolSourceHost | undefined;
  const source = {
    ...{ name: "plugin:late", start: async (host: ToolSourceHost) => void (late = host), close: async () => {} },
  };
  const toolkit = await toolkitWith({ workDir: await workspace(), sources: [source] });
  await toolkit.ready;
  const sent: object[] = [];
  await claudeAgent(toolkit).mcpServers["handrail"]?.instance.connect({ send: async (one: object) => sent.push(one) });
  late?.set([defineTool({ name: "hello", description: "Says hello.", input: {}, run: async () => "Hello!" })]);
  expect(sent).toEqual([{ jsonrpc: "2.0", method: "notifications/tools/list_changed" }]);
});

/** The texts of the results of all calls. */
async function textsOf({ store }: Toolkit): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const event of store.events({ types: ["call.finished"] }))
    if (event.type === "call.finished")
      texts.push(...(event.content ?? []).map((part) => ("text" in part ? part.text : "")));
  return texts;
}

test("streamText of AI SDK 6 shows the output of a running command as a preliminary result", async () => {
  const { tools } = aiSdk(await toolkitWith({ workDir: await workspace(), policy: { autonomy: "full" } }));
  const { fullStream } = streamText({ model: client6(), tools, prompt: "Count slowly.", stopWhen: stepCountIs(5) });
  const results: { readonly preliminary?: boolean; readonly output: unknown }[] = [];
  for await (const part of fullStream) if (part.type === "tool-result") results.push(part);
  expect(results[0]).toMatchObject({ preliminary: true, output: { status: "running", output: "counting\n" } });
  expect(results.at(-1)).toMatchObject({ output: { status: "ok" } });
  expect(results.at(-1)?.preliminary).toBeUndefined();
});
