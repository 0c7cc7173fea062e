import Anthropic from "@anthropic-ai/sdk";
import { LLMock } from "@copilotkit/aimock";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anthropic } from "../../src/adapters/anthropic.ts";
import { openAi } from "../../src/adapters/openai.ts";
import { toolkitWith, workspace } from "../support/workspace.ts";

// Nothing here is cast: that the clients take tools and results is checked by the compiler.

const mock = new LLMock({ port: 0 });
beforeAll(async () => {
  await mock.start();
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

test("Anthropic's own loop runs the tools, and images are in their results", async () => {
  const client = new Anthropic({ apiKey: "test", baseURL: mock.url });
  const tools = anthropic(await open()).runnableTools;
  const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: "user", content: prompt }];
  const runner = client.beta.messages.toolRunner({ model: "claude-opus-4-5", max_tokens: 1_000, tools, messages });
  const last = await runner;
  expect(last.content).toMatchObject([{ type: "text", text: "It is a dot." }]);
  expect(JSON.stringify(runner.params.messages)).toContain(DOT);
});
