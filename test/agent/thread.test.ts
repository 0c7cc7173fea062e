import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { LanguageModelV3CallOptions } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { type AgentEvent, createAgent } from "../../src/agent/agent.ts";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { memoryStore } from "../../src/record/activity/memory-store.ts";
import type { Message } from "../../src/core/contract/message.ts";
import type { Tool } from "../../src/core/contract/tool.ts";
import { scriptedModel } from "../suites/scripted-model.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";
import { calls, looking, ofType, resultsIn, scripted, textOf } from "./support.ts";

const big = looking("big", async (input) => (input as { value?: string }).value?.repeat(2_000) ?? "");
const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" } as const;
const four = ["a", "b", "c", "d"].map((value) => calls({ name: "big", input: { value } }));

describe("a conversation that does not fit", () => {
  test("loses old results first, and an event reports what was kept", async () => {
    const { agent, model, events } = await scripted([...four, { text: "Done." }], {
      toolkit: { tools: [big] },
      limits: { context: 2_000 },
    });
    expect((await agent.send("Go")).reason).toBe("done");
    const results = Object.values(resultsIn(model.requests[4]!));
    expect(results[0]).toMatch(/This result was cut from/);
    expect(results[3]).toBe("d".repeat(2_000));
    const [compacted] = ofType(events, "compacted");
    expect(compacted).toMatchObject({ summarized: 0 });
    expect(compacted!.after).toBeLessThan(compacted!.before);
  });

  test("is then summarized by the model, and a resumed thread begins with the summary", async () => {
    const store = memoryStore();
    const words = "word ".repeat(600);
    const summary = { text: "SUMMARY", input: 70, output: 7 };
    const script = [{ text: words }, { text: words }, { text: words }, summary, { text: "Fine." }];
    const { agent, model, events } = await scripted(script, { toolkit: { store }, limits: { context: 2_500 } });
    await agent.send("First wish");
    await agent.send("Second wish");
    await agent.send("Third wish");
    expect(await agent.send("Fourth wish")).toMatchObject({ reason: "done", usage: { input: 70, output: 7 } });
    expect(ofType(events, "compacted").at(-1)).toMatchObject({ summarized: expect.any(Number) });
    const last = JSON.stringify(model.requests.at(-1)!.prompt);
    expect(last).toContain("SUMMARY");
    expect(last).not.toContain("First wish");
    expect(last).toContain("Fourth wish");
    const toolkit = await toolkitWith({ preset: "none", store });
    const resumed = await createAgent({ model: scriptedModel([]), toolkit, thread: agent.thread });
    expect(resumed.messages).toEqual(agent.messages);
  });

  test("is shortened when a person asks, with what they want to keep; it says what fills the context", async () => {
    const script = [calls({ name: "big", input: { value: "r" } }), { text: "Found." }, { text: "SUMMARY" }];
    const { agent, model, events } = await scripted(script, { toolkit: { tools: [big] }, instructions: "Be brief." });
    await agent.send("First wish");
    const before = agent.context();
    expect(before).toMatchObject({ instructions: 3, size: 128_000 });
    expect(before.results).toBe(500);
    expect(await agent.compact("the port is 8080")).toMatchObject({ reason: "done", rounds: 1 });
    expect(JSON.stringify(model.requests[2]!.prompt)).toContain("keep above all: the port is 8080");
    expect(ofType(events, "compacted")).toMatchObject([{ summarized: 3, kept: 1 }]);
    expect(agent.context().results).toBe(0);
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    await agent.send("Second wish");
    expect(JSON.stringify(model.requests[3]!.prompt)).toContain("SUMMARY");
  });

  test("is shortened when the provider reports that it is too long", async () => {
    const tooLong = { fails: new Error("prompt is too long: context window exceeded") };
    const { agent, model } = await scripted([...four, tooLong, { text: "Done." }], { toolkit: { tools: [big] } });
    expect((await agent.send("Go")).reason).toBe("done");
    expect(JSON.stringify(model.requests[5]!.prompt).length).toBeLessThan(
      JSON.stringify(model.requests[4]!.prompt).length,
    );
  });
});

describe("the transcript", () => {
  test("is in the store as it happens, with our ids and the provider's, and with secrets masked", async () => {
    const store = memoryStore();
    const secret = "hunter2-hunter2-hunter2";
    const echo = looking("echo", async () => "hi");
    const { agent } = await scripted([calls({ name: "echo", input: { value: secret } })], {
      toolkit: { store, tools: [echo], mask: { values: [secret] } },
    });
    await agent.send(`My password is ${secret}`);
    const messages: Message[] = [];
    for await (const event of store.events({ thread: agent.thread, messages: true })) {
      if (event.type === "message.added") messages.push(event.message);
    }
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(JSON.stringify(messages)).not.toContain(secret);
    const [call] = messages[1]!.role === "assistant" ? messages[1]!.content : [];
    expect(call).toMatchObject({ type: "call", providerId: "call-1", id: expect.stringMatching(/^[\da-f-]{36}$/) });
    expect(await store.threads()).toMatchObject([{ thread: agent.thread, target: "local" }]);
  });

  test("keeps no images: a resumed thread has a note in place of each", async () => {
    const store = memoryStore();
    const { agent, model } = await scripted([], { toolkit: { store } });
    await agent.send([{ type: "text", text: "What is this?" }, image]);
    expect(JSON.stringify(model.requests[0])).toContain(image.data);
    const resumed = scriptedModel([]);
    const toolkit = await toolkitWith({ preset: "none", store });
    await (await createAgent({ model: resumed, toolkit, thread: agent.thread })).send("And what was it?");
    expect(JSON.stringify(resumed.requests[0])).not.toContain(image.data);
    expect(JSON.stringify(resumed.requests[0])).toMatch(/\[Image: image\/png, 8B\].*no longer in the conversation/);
  });

  test("of a process that died gets a result for every call: lost, interrupted or not started", async () => {
    const store = memoryStore();
    const thread = "t";
    const at = 1;
    const call = (id: string) => ({ type: "call", id, providerId: id, name: "echo", input: "{}" }) as const;
    const message: Message = { role: "assistant", content: [call("lost"), call("running"), call("never")] };
    store.append({ type: "thread.created", thread, at, target: "local", workDir: "/" });
    store.append({ type: "message.added", thread, at, message: { role: "user", from: "person", content: [] } });
    store.append({ type: "message.added", thread, at, message });
    for (const id of ["lost", "running"]) {
      store.append({ type: "call.started", thread, call: id, at, name: "echo", input: {} });
    }
    store.append({
      type: "call.finished",
      thread,
      call: "lost",
      at,
      status: "ok",
      content: [{ type: "text", text: "Found 7." }],
    });
    const toolkit = await toolkitWith({ preset: "none", store });
    const model = scriptedModel([{ text: "I go on." }]);
    const agent = await createAgent({ model, toolkit, thread });
    expect((await agent.send("Go on")).reason).toBe("done");
    expect(resultsIn(model.requests[0]!)).toEqual({
      lost: "Found 7.",
      running: expect.stringContaining("Whether it took effect is unknown"),
      never: expect.stringContaining("was not started"),
    });
  });
});

describe("two agents in one thread, each with a connection to the store", () => {
  const file = () => join(temporaryFolder(), "handrail.db");
  /** A tool that runs until the test ends it, or the call is stopped. */
  const held = () => {
    const ending = new AbortController();
    const run: Tool["run"] = async (_, { signal }) => {
      await new Promise((resolve) => AbortSignal.any([signal, ending.signal]).addEventListener("abort", resolve));
      return "the result";
    };
    return { tool: looking("big", run), end: () => ending.abort() };
  };

  const opened = (script: Parameters<typeof scripted>[0], place: string, tools: readonly Tool[] = []) =>
    scripted(script, {
      toolkit: { store: sqliteStore({ file: place }), tools },
      thread: "both",
      limits: { rounds: 999 },
    });
  const untilNotices = (events: readonly AgentEvent[], count: number) => {
    const notices = () => ofType(events, "message").filter(({ text }) => text.startsWith("Another agent is working"));
    return until("it says that another works", () => notices().length === count);
  };

  test("have one turn at a time: what is said to the second is said to the first, between two calls", async () => {
    const place = file();
    const tool = looking("look", () => pause(10).then(() => "the result"));
    const looks = ({ prompt }: LanguageModelV3CallOptions) =>
      JSON.stringify(prompt).includes("Second question") ? { text: "Both answers" } : calls({ name: "look" });
    const one = await opened(
      Array.from({ length: 999 }, () => looks),
      place,
      [tool],
    );
    const first = one.agent.send("First question");
    await until("it works", () => ofType(one.events, "tool_call").length > 0);
    const other = await opened([{ text: "Second answer" }, { text: "Third answer" }], place);
    const second = other.agent.send("Second question");
    await untilNotices(other.events, 1);
    expect([(await first).reason, (await second).reason]).toEqual(["done", "done"]);
    expect(ofType(one.events, "message")).toEqual([
      { type: "message", from: "person", text: "First question" },
      { type: "message", from: "person", text: "Second question", offered: true },
    ]);
    expect(textOf(other.events)).toBe("Both answers");
    expect(other.model.requests).toEqual([]);
    await other.agent.send("Third question");
    const asked = JSON.stringify(other.model.requests[0]!.prompt);
    for (const words of ["First question", "Second question", "Both answers", "Third question"]) {
      expect(asked.split(words)).toHaveLength(2);
    }
  });

  test("have one turn at a time: a message with an image waits for its own turn", async () => {
    const place = file();
    const { tool, end } = held();
    const one = await opened([calls({ name: "big" }), { text: "First answer" }, { text: "Third answer" }], place, [
      tool,
    ]);
    const first = one.agent.send("First question");
    await until("the call runs", () => ofType(one.events, "tool_call").length === 1);
    const other = await opened([{ text: "Second answer" }], place);
    const second = other.agent.send([{ type: "text", text: "Second question" }, image]);
    await untilNotices(other.events, 1);
    end();
    expect([(await first).reason, (await second).reason]).toEqual(["done", "done"]);
    expect(Object.values(resultsIn(other.model.requests[0]!))).toEqual(["the result"]);
    await one.agent.send("Third question");
    const asked = JSON.stringify(one.model.requests.at(-1)!.prompt);
    for (const words of ["First answer", "Second question", "Second answer", "Third question"]) {
      expect(asked.split(words)).toHaveLength(2);
    }
  });

  test("a stop ends the running turn, not the waiting one; a waiting message can be taken back", async () => {
    const place = file();
    const { tool } = held();
    const one = await opened([calls({ name: "big" })], place, [tool]);
    const first = one.agent.send("First question");
    await until("the call runs", () => ofType(one.events, "tool_call").length === 1);
    const other = await opened([{ text: "Second answer" }], place);
    const given = other.agent.send("Never mind");
    await untilNotices(other.events, 1);
    await other.agent.stop();
    expect((await given).reason).toBe("stopped");
    const second = other.agent.send("Second question");
    await untilNotices(other.events, 2);
    const store = sqliteStore({ file: place });
    await store.commit({ type: "stop.requested", thread: "both", at: Date.now(), by: "test" });
    expect([(await first).reason, (await second).reason]).toEqual(["stopped", "done"]);
    expect(textOf(other.events)).toBe("Second answer");
    expect(JSON.stringify(other.agent.messages)).not.toContain("Never mind");
  });
});

test("a job that the agent was registered for starts a turn when it ends", async () => {
  const { agent, model, events } = await scripted(
    [
      calls({ name: "bash", input: { command: "sleep 0.3; echo built", background: true } }),
      calls({ name: "wake_on_job", input: { id: "1" } }),
      { text: "I wait for the build." },
      { text: "It is built." },
    ],
    { toolkit: { preset: "coding", workDir: await workspace(), policy: { autonomy: "full" } } },
  );
  expect(await agent.send("Build it")).toMatchObject({ reason: "done", waitingFor: ["1"] });
  await expect.poll(() => ofType(events, "end").length, { timeout: 10_000 }).toBe(2);
  expect(ofType(events, "end")[1]).toMatchObject({ reason: "done", waitingFor: [] });
  expect(JSON.stringify(model.requests[3]!.prompt.at(-1))).toMatch(/Job 1 has ended: .*You asked to be woken/);
  expect(ofType(events, "message").at(-1)).toMatchObject({ from: "handrail" });
});
