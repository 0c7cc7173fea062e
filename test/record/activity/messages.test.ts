import { describe, expect, test } from "vitest";
import {
  type ThreadMessage,
  createThreadView,
  findToolMessage,
  followThread,
  readThread,
} from "../../../src/record/activity/messages.ts";
import {
  deleteToolActivityFields,
  updateToolActivity,
  updateToolActivityData,
} from "../../../src/record/activity/changes.ts";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import type { ActivityEvent, StoredEvent } from "../../../src/core/contract/activity.ts";
import type { Content } from "../../../src/core/contract/content.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { createToolkit } from "../../../src/app/toolkit.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";

const GIF = "R0lGODlhAQABAAAAACw=";

const createTask = defineTool({
  name: "create_task",
  description: "Creates a task.",
  paramsHint: "title (required)",
  input: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
  run: async ({ title }: { title: string }, { report, attach }) => {
    report({ displayMessage: "Creating task" });
    if (title === "bad") throw new ToolFailure("no ".repeat(200));
    if (title === "picture") attach({ type: "image", mimeType: "image/gif", data: GIF } satisfies Content);
    return { task_id: 123 };
  },
});

async function tasks() {
  const store = memoryStore();
  const toolkit = await toolkitWith({ tools: [createTask], preset: "none", store });
  const make = (id: string, title: string) => toolkit.call({ id, thread: "t", name: "create_task", input: { title } });
  return { store, toolkit, make };
}

const activityOf = (message: ThreadMessage | undefined) =>
  message?.role === "tool" ? message.metadata.tool_activity : undefined;

describe("the messages of a thread", () => {
  test("are those of people and models, and one for each call", async () => {
    const { store, make } = await tasks();
    const own = { thread: "t", at: 1 };
    const part = { type: "call", providerId: "1", name: "create_task", input: "{}" } as const;
    const events: readonly ActivityEvent[] = [
      { ...own, type: "thread.created", target: "local", workDir: "/" },
      {
        ...{ ...own, type: "message.added" },
        message: { role: "user", from: "person", content: [{ type: "text", text: "Go" }] },
      },
      {
        ...{ ...own, type: "message.added" },
        message: {
          role: "assistant",
          content: [
            { ...part, id: "a", provider: { x: 1 } },
            { ...part, id: "never" },
          ],
        },
      },
    ];
    for (const event of events) store.append(event);
    await make("a", "one");
    const result = (call: string, status: "ok" | "not-started"): ActivityEvent => {
      const message = { role: "tool", call, status, content: [{ type: "text", text: "Not started." }] } as const;
      return { ...own, type: "message.added", message };
    };
    store.append(result("a", "ok"));
    store.append(result("never", "not-started"));
    const messages = await readThread(store, "t");
    expect(messages).toMatchObject([
      { role: "user", from: "person", content: [{ text: "Go" }] },
      {
        role: "assistant",
        content: [
          { ...part, id: "a" },
          { ...part, id: "never" },
        ],
      },
      {
        ...{ role: "tool", result: "ok", userFacing: true, content: [{ type: "text", text: '{"task_id":123}' }] },
        metadata: {
          tool_activity: {
            ...{ id: "a", name: "create_task", params_hint: "title (required)", status: "success" },
            ...{ input: { title: "one" }, data: { task_id: 123 } },
          },
        },
      },
      {
        ...{ role: "tool", result: "not-started" },
        metadata: { tool_activity: { id: "never", status: "failure", error: "Not started." } },
      },
    ]);
    expect(JSON.stringify(messages)).not.toContain('provider"');
    const ids = messages.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    const [, , call] = messages;
    expect(await readThread(store, "t", { after: (call?.changed ?? 0) - 1 })).toEqual(messages.slice(2));
  });

  test("have a short error, the whole text of the result, and the ids of saved images", async () => {
    const { store, toolkit, make } = await tasks();
    await make("bad", "bad");
    const failed = await findToolMessage(store, "bad");
    expect(activityOf(failed)?.error).toHaveLength(200);
    expect(failed?.content).toEqual([{ type: "text", text: `Tool error: ${"no ".repeat(200)}` }]);
    expect(activityOf(failed)).not.toHaveProperty("display_message");
    await toolkit.close();
    const folder = temporaryFolder();
    const other = await createToolkit({ tools: [createTask], preset: "none", stateDir: folder, outputOwner: "own" });
    await other.call({ id: "picture", thread: "t", name: "create_task", input: { title: "picture" } });
    const { content = [] } = (await findToolMessage(other.store, "picture")) ?? {};
    expect(content).toMatchObject([{ type: "text" }, { type: "image", mimeType: "image/gif", bytes: 14 }]);
    const saved = await import("node:fs/promises").then(({ readFile }) =>
      readFile(`${folder}/outputs/own/${content[1]?.type === "image" ? content[1].output : ""}`),
    );
    expect(saved.toString("base64")).toBe(GIF);
    await other.close();
  });

  test("show a question while it is open", () => {
    const view = createThreadView();
    const add = (id: number, event: object) =>
      view.add({ call: "a", thread: "t", at: id, id, ...event } as StoredEvent);
    add(1, { type: "call.started", name: "bash", input: {} });
    expect(add(2, { type: "approval.requested", question: "q", effects: [] })).toMatchObject({ question: "q" });
    expect(add(3, { type: "approval.decided", question: "q" })).not.toHaveProperty("question");
    add(4, { type: "approval.requested", question: "r", effects: [] });
    expect(add(5, { type: "call.finished", status: "denied" })).not.toHaveProperty("question");
    expect(add(6, { type: "call.finished", status: "ok" })).toBeUndefined();
  });

  test("are followed: each comes again when it changes, without a gap between reading and following", async () => {
    const { store, make } = await tasks();
    await make("a", "one");
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const message of followThread(store, "t", { signal: stop.signal })) {
      const { id, status, display_message: shown = "" } = activityOf(message) ?? {};
      seen.push(`${id} ${status} ${shown}`.trim());
      if (seen.length === 1) void make("b", "two");
      if (seen.at(-1) === "b success") stop.abort();
    }
    expect(seen).toEqual(["a success", "b in_progress", "b in_progress Creating task", "b success"]);
  });

  test("with collapsed retries the next call of the tool reuses the message of a failed one", async () => {
    const { store, make } = await tasks();
    for (const [id, title] of [
      ["1", "bad"],
      ["2", "bad"],
      ["3", "good"],
      ["4", "good"],
    ] as const)
      await make(id, title);
    expect((await readThread(store, "t")).map((each) => activityOf(each)?.id)).toEqual(["1", "2", "3", "4"]);
    const messages = await readThread(store, "t", { collapseRetries: true });
    const history = ["1", "2"].map((id) => ({ id, input: { title: "bad" }, error: "no ".repeat(66) + "n…" }));
    expect(messages.map(activityOf)).toMatchObject([
      { id: "3", status: "success", retry_count: 2, retry_history: history },
      { id: "4", status: "success" },
    ]);
    expect(activityOf(messages[1])).not.toHaveProperty("retry_count");
  });

  test("a retry after more than five minutes has a message of its own", () => {
    const view = createThreadView({ collapseRetries: true });
    const fail = (call: string, id: number, at: number) => {
      view.add({ call, thread: "t", at, id, type: "call.started", name: "x", input: {} });
      view.add({ call, thread: "t", at, id: id + 1, type: "call.finished", status: "failed" });
    };
    fail("a", 1, 0);
    fail("b", 3, 300_000);
    fail("c", 5, 600_001);
    expect(view.messages.map((each) => activityOf(each)?.id)).toEqual(["b", "c"]);
  });
});

describe("a tool activity is changed from outside", () => {
  test("while the call runs and after its end: its data and its error, and its status as it ends", async () => {
    const { store, toolkit, make } = await tasks();
    await make("a", "one");
    const secret = "sk-ant-api03-" + "a".repeat(93) + "AA";
    await updateToolActivityData(toolkit, "a", { task_status: "done", key: secret });
    await updateToolActivity(toolkit, "a", { error: "It was undone." });
    const { key, ...data } = activityOf(await findToolMessage(store, "a"))?.data ?? {};
    expect(data).toEqual({ task_id: 123, task_status: "done" });
    expect(key).not.toContain("aaaa");
    expect(activityOf(await findToolMessage(store, "a"))).toMatchObject({ status: "success", error: "It was undone." });
    await expect(updateToolActivity(toolkit, "a", { display_message: "late" })).rejects.toThrow("call a has ended");
    await updateToolActivity(toolkit, "a", { status: "success" });
    await expect(updateToolActivity(toolkit, "a", { status: "failure" })).rejects.toThrow(
      "call a has ended with success, so its status is not failure",
    );
    await deleteToolActivityFields(toolkit, "a", ["error"]);
    expect(activityOf(await findToolMessage(store, "a"))).not.toHaveProperty("error");
    store.append({ call: "b", thread: "t", at: 1, type: "call.started", name: "x", input: {} });
    await updateToolActivity(toolkit, "b", { display_message: "Half done" });
    expect(activityOf(await findToolMessage(store, "b"))).toMatchObject({ display_message: "Half done" });
    await deleteToolActivityFields(toolkit, "b", ["display_message"]);
    expect(activityOf(await findToolMessage(store, "b"))).not.toHaveProperty("display_message");
  });

  test("by the tool itself, which finds its message by the id of the call while it runs", async () => {
    const store = memoryStore();
    const renaming = defineTool({
      name: "renaming",
      description: "Changes its own message.",
      input: {},
      run: async (_, { callId }) => {
        const own = activityOf(await findToolMessage(store, callId));
        await updateToolActivity(toolkit, callId, { display_message: "Processing..." });
        const shown = activityOf(await findToolMessage(store, callId));
        await updateToolActivityData(toolkit, callId, { result_id: 7 });
        await updateToolActivity(toolkit, callId, { status: "success" });
        return { seen: [own?.name ?? "", own?.status ?? "", shown?.display_message ?? ""] };
      },
    });
    const toolkit = await toolkitWith({ tools: [renaming], preset: "none", store });
    await toolkit.call({ id: "a", thread: "t", name: "renaming", input: {} });
    const ended = activityOf(await findToolMessage(store, "a"));
    expect(ended?.data).toEqual({ result_id: 7, seen: ["renaming", "in_progress", "Processing..."] });
    expect(ended).not.toHaveProperty("display_message");
  });

  test("is refused for other fields, and for calls that the store does not have", async () => {
    const { toolkit, make } = await tasks();
    await make("a", "one");
    const name = { name: "other" } as object;
    await expect(updateToolActivity(toolkit, "a", name)).rejects.toThrow("expected display_message or error, got name");
    await expect(updateToolActivity(toolkit, "a", { status: "done" as "success" })).rejects.toThrow(
      "expected a status (in_progress, success, failure), got done",
    );
    await expect(updateToolActivity(toolkit, "none", { status: "success" })).rejects.toThrow("there is no call none");
    await expect(deleteToolActivityFields(toolkit, "a", ["data" as "error"])).rejects.toThrow(TypeError);
    await expect(updateToolActivityData(toolkit, "none", {})).rejects.toThrow("there is no call none");
    expect(await findToolMessage(toolkit.store, "none")).toBeUndefined();
  });
});
