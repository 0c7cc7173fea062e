import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import Anthropic from "@anthropic-ai/sdk";
import { type GenerateContentConfig, GoogleGenAI } from "@google/genai";
import type { Tool } from "@modelcontextprotocol/server";
import OpenAI from "openai";
import { afterAll, expect, test } from "vitest";
import { defineTool } from "../../src/core/contract/tool.ts";
import { toolkitWith } from "../support/workspace.ts";

// Nothing here is cast: that the clients take the definitions is checked by the compiler, what they send by a server.

const requests: { readonly path: string; readonly body: { readonly tools?: unknown } }[] = [];
const server = createServer((request, response) => {
  void text(request).then((body) => {
    requests.push({ path: request.url ?? "", body: JSON.parse(body) as { tools?: unknown } });
    response.setHeader("content-type", "application/json").end('{"output":[],"candidates":[]}');
  });
});
await once(server.listen(0, "127.0.0.1"), "listening");
afterAll(() => server.close());
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const toolkit = await toolkitWith({
  tools: [
    defineTool({
      name: "forecast",
      title: "Forecast",
      description: "The weather of the next days.",
      input: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      touches: [],
      effects: () => [],
      run: async () => null,
    }),
  ],
});

const name = "forecast";
const description = "The weather of the next days.";
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

test("OpenAI's client takes and sends them as functions of a chat completion", async () => {
  const tools: OpenAI.Chat.Completions.ChatCompletionCreateParams["tools"] = toolkit.definitions("openai") ?? [];
  const client = new OpenAI({ apiKey: "key", baseURL: `${address}/v1`, maxRetries: 0 });
  await client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "Rain?" }], tools });
  expect(lastRequest()).toEqual({
    path: "/v1/chat/completions",
    tools: [{ type: "function", function: { name, description, parameters: schema } }],
  });
});

test("OpenAI's client takes and sends them as functions of a response", async () => {
  const tools: OpenAI.Responses.ResponseCreateParams["tools"] = toolkit.definitions("openai-responses") ?? [];
  const client = new OpenAI({ apiKey: "key", baseURL: `${address}/v1`, maxRetries: 0 });
  await client.responses.create({ model: "m", input: "Rain?", tools });
  expect(lastRequest()).toEqual({
    path: "/v1/responses",
    tools: [{ type: "function", name, description, parameters: schema, strict: false }],
  });
});

test("Anthropic's client takes and sends them as tools of a message", async () => {
  const tools: Anthropic.MessageCreateParams["tools"] = toolkit.definitions("anthropic") ?? [];
  const client = new Anthropic({ apiKey: "key", baseURL: address, maxRetries: 0 });
  await client.messages.create({ model: "m", max_tokens: 1, messages: [{ role: "user", content: "Rain?" }], tools });
  expect(lastRequest()).toEqual({ path: "/v1/messages", tools: [{ name, description, input_schema: schema }] });
});

test("Google's client takes and sends them as function declarations, with the JSON Schema as it is", async () => {
  const functionDeclarations = toolkit.definitions("gemini") ?? [];
  const tools: GenerateContentConfig["tools"] = [{ functionDeclarations }];
  const client = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: address } });
  await client.models.generateContent({ model: "m", contents: "Rain?", config: { tools } });
  expect(lastRequest()).toEqual({
    path: "/v1beta/models/m:generateContent",
    tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: schema }] }],
  });
});

test("an MCP server takes them as its tools", () => {
  const tools: Tool[] = toolkit.definitions("mcp") ?? [];
  expect(tools).toEqual([
    {
      name,
      title: "Forecast",
      description,
      inputSchema: schema,
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
  ]);
});

function lastRequest() {
  const { path, body } = requests.at(-1) ?? { path: "", body: {} };
  return { path, tools: body.tools };
}
