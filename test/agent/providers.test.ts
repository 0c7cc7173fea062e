import fc from "fast-check";
import { type Fixture, LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentEvent, createAgent } from "../../src/agent/agent.ts";
import { loadModel } from "../../src/agent/models/load.ts";
import { toolkitWith } from "../support/workspace.ts";
import { looking, ofType, textOf } from "./support.ts";

const mock = new LLMock({ port: 0, chunkSize: 7 });
beforeAll(() => mock.start());
afterAll(() => mock.stop());

type Answer = Omit<Fixture, "match">;

const PROVIDERS = [
  { provider: "openai", name: "gpt-5", path: "/v1" },
  { provider: "anthropic", name: "claude-sonnet-4-5", path: "/v1" },
  { provider: "google", name: "gemini-2.5-pro", path: "/v1beta" },
  { provider: "openai-compatible", name: "qwen3", path: "/v1" },
] as const;

/** Runs a turn of an agent with the real provider package, whose requests get these responses in order. */
async function turn({ provider, name, path }: (typeof PROVIDERS)[number], answers: readonly Answer[]) {
  mock.clearFixtures();
  let at = 0;
  for (const [index, { response, ...how }] of answers.entries()) {
    mock.addFixture({
      match: { predicate: () => at === index },
      response: async () => (at++, response as never),
      ...how,
    });
  }
  const echo = looking("echo", async (input) => (input as { value?: string }).value ?? "");
  const toolkit = await toolkitWith({ preset: "none", tools: [echo] });
  const { model } = await loadModel(
    { provider, name, baseUrl: `${mock.url}${path}` },
    { env: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k" } },
  );
  const agent = await createAgent({ model, toolkit, limits: { retryMs: 1 } });
  const events: AgentEvent[] = [];
  const stream = agent.events();
  const reading = (async () => {
    for await (const event of stream) events.push(event);
  })();
  const end = await agent.send("Go");
  await agent.close();
  await reading;
  return { end, events, requests: at };
}

const echoCalls = (...values: readonly string[]) =>
  values.map((value) => ({ name: "echo", arguments: JSON.stringify({ value }) }));
const echoes = (...values: readonly string[]): Answer => ({ response: { toolCalls: echoCalls(...values) } });
const says = (content: string): Answer => ({ response: { content } });
const fails = (status: number, message: string, type = "error"): Answer => ({
  response: { error: { message, type, code: type }, status, retryAfter: 0 },
});

describe.each(PROVIDERS)("$provider", (provider) => {
  test("streams arguments and text, and accepts the results of parallel calls", async () => {
    const { end, events, requests } = await turn(provider, [
      echoes("a long first value", "two"),
      says("Both came back."),
    ]);
    expect(end, end.message).toMatchObject({ reason: "done", rounds: 2 });
    expect(ofType(events, "tool_result").map(({ text }) => text)).toEqual(["a long first value", "two"]);
    expect(textOf(events)).toBe("Both came back.");
    expect(ofType(events, "text").length).toBeGreaterThan(1);
    expect(requests).toBe(2);
  });

  test("gives the model an error for arguments that are not JSON", async () => {
    const broken = { response: { toolCalls: [{ name: "echo", arguments: '{"value": "cut' }] } };
    const { end, events } = await turn(provider, [broken, says("I try again.")]);
    expect(end, end.message).toMatchObject({ reason: "done" });
    // Google and the mock's Anthropic transmit arguments as objects, which cannot be malformed.
    const isText = provider.provider.startsWith("openai");
    expect(ofType(events, "tool_result").map(({ status }) => status)).toEqual([isText ? "invalid-input" : "ok"]);
  });

  test.each([
    {
      what: "a limit of the rate",
      answer: fails(429, "Rate limit reached", "rate_limit_error"),
      message: /limits the rate/,
    },
    { what: "overload", answer: fails(503, "The service is overloaded", "overloaded_error"), message: /overloaded/ },
  ])("asks again after $what, and reports it", async ({ answer, message }) => {
    const { end, events } = await turn(provider, [answer, answer, says("Now.")]);
    expect(end, end.message).toMatchObject({ reason: "done" });
    expect(ofType(events, "retry")).toMatchObject([
      { attempt: 1, message: expect.stringMatching(message) },
      { attempt: 2, message: expect.stringMatching(message) },
    ]);
  });

  test.each([
    { how: "ends early", cut: { truncateAfterChunks: 4 } },
    { how: "loses its connection", cut: { disconnectAfterMs: 40, latency: 10 } },
  ])("retries when the stream $how", async ({ cut: when }) => {
    const cut = { ...says("This is a reply that is cut in the middle of it, somewhere here."), ...when };
    const { end, events } = await turn(provider, [cut, says("Whole.")]);
    expect(end, end.message).toMatchObject({ reason: "done" });
    expect(ofType(events, "retry")).toHaveLength(1);
    expect(textOf(events)).toMatch(/Whole\.$/);
  });

  test.each([
    { what: "a wrong key", answer: fails(401, "Invalid API key"), message: /does not accept the API key/ },
    { what: "an unknown model", answer: fails(404, "The model does not exist"), message: /there is no model/ },
    { what: "a request it refuses", answer: fails(400, "Something is wrong"), message: /refused.*Something is wrong/ },
  ])("fails at once with a sentence on $what", async ({ answer, message }) => {
    const { end, requests } = await turn(provider, [answer]);
    expect(end).toMatchObject({ reason: "failed", message: expect.stringMatching(message) });
    expect(requests).toBe(1);
  });

  test("shortens a conversation that is too long for the model, and reports a model that still rejects it", async () => {
    const tooLong = fails(400, "prompt is too long: maximum context length is 4096 tokens", "invalid_request_error");
    const { end } = await turn(provider, [tooLong, tooLong, tooLong, tooLong]);
    expect(end).toMatchObject({ reason: "failed", message: expect.stringContaining("too long") });
  });
});

test("an abort at any point of a real stream leaves one result per call, and the next turn works", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...PROVIDERS),
      fc.integer({ min: 0, max: 25 }),
      async ({ provider, name, path }, at) => {
        mock.clearFixtures();
        let asked = 0;
        let last: readonly { readonly role: string; readonly tool_calls?: readonly object[] }[] = [];
        const round = { content: "I call the tool twice now.", toolCalls: echoCalls("one", "two") };
        mock.addFixture({
          match: { predicate: () => true },
          response: async ({ messages }) => {
            last = messages;
            return asked++ < 2 ? round : { content: "Done." };
          },
        });
        const toolkit = await toolkitWith({ preset: "none", tools: [looking("echo", async () => "hi")] });
        const env = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k" };
        const { model } = await loadModel({ provider, name, baseUrl: `${mock.url}${path}` }, { env });
        const agent = await createAgent({ model, toolkit, limits: { retryMs: 1 } });
        const events = agent.events();
        const first = agent.send("Go");
        let seen = 0;
        for await (const event of events) {
          if (event.type === "end") break;
          if (seen++ === at) void agent.stop();
        }
        expect(["done", "stopped"]).toContain((await first).reason);
        expect((await agent.send("Next")).reason).toBe("done");
        const called = last.reduce((sum, message) => sum + (message.tool_calls?.length ?? 0), 0);
        expect(last.filter(({ role }) => role === "tool")).toHaveLength(called);
        await agent.close();
        await toolkit.close();
      },
    ),
    { numRuns: 30 },
  );
}, 60_000);

test("a server that cannot be reached is a clear failure", async () => {
  const toolkit = await toolkitWith({ preset: "none" });
  const { model } = await loadModel({ provider: "openai-compatible", name: "x", baseUrl: "http://127.0.0.1:9/v1" });
  const agent = await createAgent({ model, toolkit, limits: { retryMs: 1 } });
  expect(await agent.send("Go")).toMatchObject({
    reason: "failed",
    message: expect.stringMatching(/cannot be reached at http:\/\/127\.0\.0\.1:9/),
  });
});

test.each([
  { settings: { provider: "opnai", name: "x" }, message: /unknown provider "opnai"\. Providers: openai, anthropic/ },
  {
    settings: { provider: "anthropic", name: "x" },
    message: /needs an API key, and there is none in ANTHROPIC_API_KEY\. Set ANTHROPIC_API_KEY/,
  },
  { settings: { provider: "openai", name: "x", keyVariable: "MINE" }, message: /Set MINE/ },
  { settings: { provider: "openai-compatible", name: "x" }, message: /base_url/ },
])("$settings is refused with the next step", async ({ settings, message }) => {
  await expect(loadModel(settings, { env: {} })).rejects.toThrow(message);
});
