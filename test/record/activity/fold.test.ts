import { describe, expect, test } from "vitest";
import { type ToolMessage, foldMessage } from "../../../src/record/activity/fold.ts";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import type { CallEvent, CallUpdate } from "../../../src/core/contract/activity.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import type { Json } from "../../../src/core/contract/schema.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { toolkitWith } from "../../support/workspace.ts";

type Happening = CallEvent extends infer E ? (E extends CallEvent ? Omit<E, "call" | "thread" | "at"> : never) : never;

function fold(...happenings: readonly Happening[]): ToolMessage | undefined {
  return happenings.reduce<ToolMessage | undefined>(
    (message, happening) => foldMessage(message, { call: "c1", thread: "t1", at: 0, ...happening }),
    undefined,
  );
}

const started: Happening = { type: "call.started", name: "create_task", input: { title: "Do thing" } };
const approved: Happening = {
  type: "call.approved",
  effects: [],
  decision: { verdict: "allow", risk: "low" },
};
const updated = (update: CallUpdate): Happening => ({ type: "call.updated", update });
const finished = (more: Partial<Extract<Happening, { type: "call.finished" }>> = {}): Happening => ({
  type: "call.finished",
  status: "ok",
  ...more,
});

describe("foldMessage", () => {
  test("a call that has started is in progress, with its input and no data", () => {
    expect(fold(started)).toEqual({
      thread: "t1",
      userFacing: true,
      metadata: {
        tool_activity: { id: "c1", name: "create_task", status: "in_progress", input: { title: "Do thing" }, data: {} },
      },
    });
  });

  test("data is merged, and the newest value of a name counts", () => {
    const message = fold(
      started,
      updated({ data: { a: 1, b: 1 } }),
      updated({ data: { b: 2 } }),
      finished({ data: { c: 3 } }),
    );
    expect(message?.metadata.tool_activity).toEqual({
      id: "c1",
      name: "create_task",
      status: "success",
      input: { title: "Do thing" },
      data: { a: 1, b: 2, c: 3 },
    });
  });

  test("the display message is shown while the call runs, can be removed, and is removed at the end", () => {
    const activity = (...more: readonly Happening[]) => fold(started, approved, ...more)?.metadata.tool_activity;
    expect(activity(updated({ displayMessage: "Creating task" }))).toMatchObject({ display_message: "Creating task" });
    expect(activity(updated({ displayMessage: "Creating task" }), updated({ data: { half: true } }))).toMatchObject({
      display_message: "Creating task",
    });
    expect(
      activity(updated({ displayMessage: "Creating task" }), updated({ displayMessage: null })),
    ).not.toHaveProperty("display_message");
    for (const ending of [
      finished(),
      finished({ status: "failed", error: "x" }),
      finished({ status: "aborted" }),
      finished({ status: "denied" }),
    ]) {
      expect(activity(updated({ displayMessage: "Creating task" }), ending)).not.toHaveProperty("display_message");
    }
  });

  test("a display message that the tool returns stays in its data", () => {
    expect(
      fold(started, finished({ data: { task_id: 1, display_message: "Created thing!" } }))?.metadata.tool_activity,
    ).toEqual({
      id: "c1",
      name: "create_task",
      status: "success",
      input: { title: "Do thing" },
      data: { task_id: 1, display_message: "Created thing!" },
    });
  });

  test.each(["failed", "denied", "aborted", "invalid-input", "unknown-tool"] as const)(
    "%s is a failure, with its error and the data so far",
    (status) => {
      const message = fold(started, updated({ data: { done: 1 } }), finished({ status, error: "Something failed" }));
      expect(message?.metadata.tool_activity).toMatchObject({
        status: "failure",
        error: "Something failed",
        data: { done: 1 },
      });
    },
  );

  test.each<[Json, object]>([
    [{ a: 1 }, { a: 1 }],
    [null, {}],
    ["text", { result: "text" }],
    [0, { result: 0 }],
    [false, { result: false }],
    [[1, 2], { result: [1, 2] }],
  ])("a tool that returns %j has the data %j", (data, expected) => {
    expect(fold(started, finished({ data }))?.metadata.tool_activity.data).toEqual(expected);
  });

  test("a call of a tool with userFacing: false is marked from its start", () => {
    const hidden: Happening = { ...started, userFacing: false };
    expect(fold(hidden)).toMatchObject({ userFacing: false, metadata: { tool_activity: { status: "in_progress" } } });
    expect(fold(hidden, approved, finished())).toMatchObject({ userFacing: false });
  });

  test("events after the end change nothing, and events before the start make no message", () => {
    const ended = fold(started, finished({ data: { a: 1 } }));
    expect(
      fold(
        started,
        finished({ data: { a: 1 } }),
        updated({ displayMessage: "late", data: { b: 1 } }),
        finished({ status: "failed" }),
        approved,
      ),
    ).toEqual(ended);
    expect(fold(updated({ data: { a: 1 } }), finished())).toBeUndefined();
  });

  test("questions and answers leave the message as it is", () => {
    const decision = { verdict: "ask", risk: "low" } as const;
    const message = fold(
      started,
      { type: "approval.requested", question: "q", effects: [], decision },
      { type: "approval.decided", question: "q", by: "test", approval: { answer: "once" } },
    );
    expect(message).toEqual(fold(started));
  });

  test("an earlier message object is not changed", () => {
    const before = fold(started, updated({ data: { a: 1 } }));
    const copy = structuredClone(before);
    foldMessage(before, { call: "c1", thread: "t1", at: 1, ...updated({ data: { a: 2 }, displayMessage: "x" }) });
    foldMessage(before, { call: "c1", thread: "t1", at: 1, ...finished({ data: { a: 3 } }) });
    expect(before).toEqual(copy);
  });
});

describe("a real call folds to the tool_activity of the API", () => {
  async function messageOf(run: Tool["run"], options: Partial<Tool> = {}): Promise<ToolMessage | undefined> {
    const store = memoryStore();
    const tool = defineTool({
      name: "create_task",
      description: "Creates a task.",
      touches: [],
      input: {},
      effects: () => [],
      run,
      ...options,
    });
    const toolkit = await toolkitWith({ tools: [tool], store });
    await toolkit.call({ id: "c1", thread: "t1", name: "create_task", input: { title: "Do thing" } });
    let message: ToolMessage | undefined;
    for await (const event of store.events({ call: "c1" })) message = foldMessage(message, event);
    return message;
  }

  const base = { id: "c1", name: "create_task", input: { title: "Do thing" } };

  test("a success", async () => {
    const message = await messageOf(async (_, { report }) => {
      report({ displayMessage: "Creating task" });
      report({ data: { step: 1 } });
      return { task_id: 123, task_title: "Do thing" };
    });
    expect(message).toEqual({
      thread: "t1",
      userFacing: true,
      metadata: {
        tool_activity: { ...base, status: "success", data: { step: 1, task_id: 123, task_title: "Do thing" } },
      },
    });
  });

  test("a failure, with its error truncated for the cell", async () => {
    const message = await messageOf(async (_, { report }) => {
      report({ displayMessage: "Creating task", data: { step: 1 } });
      throw new ToolFailure("no ".repeat(200));
    });
    const { error, ...activity } = message!.metadata.tool_activity;
    expect(activity).toEqual({ ...base, status: "failure", data: { step: 1 } });
    expect(error).toHaveLength(200);
  });

  test("a tool with userFacing: false, also when it returns nothing", async () => {
    const message = await messageOf(async () => null, { userFacing: false });
    expect(message).toMatchObject({
      userFacing: false,
      metadata: { tool_activity: { ...base, status: "success", data: {} } },
    });
  });

  test.each([
    ["is asked about and denied", { title: "x" }],
    ["is invalid", {}],
  ])("a tool with userFacing: false whose call %s", async (_, input) => {
    const store = memoryStore();
    const hidden = defineTool({
      ...{ name: "create_task", aliases: ["new_task"], description: "-", userFacing: false, touches: ["write"] },
      input: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
      effects: () => [{ kind: "write", path: "../task" }],
      run: async () => null,
    });
    const shown: (boolean | undefined)[] = [];
    const toolkit = await toolkitWith({ tools: [hidden], store, approver: async () => ({ answer: "refuse" }) });
    await toolkit.call({ id: "c1", name: "new_task", input });
    let message: ToolMessage | undefined;
    for await (const event of store.events()) {
      message = foldMessage(message, event);
      shown.push(message?.userFacing);
    }
    expect(message?.metadata.tool_activity.status).toBe("failure");
    expect(new Set(shown)).toEqual(new Set([false]));
  });

  test("a call of an unknown tool", async () => {
    const store = memoryStore();
    const toolkit = await toolkitWith({ preset: "none", store });
    await toolkit.call({ id: "c1", name: "create_task", input: {} });
    let message: ToolMessage | undefined;
    for await (const event of store.events()) message = foldMessage(message, event);
    expect(message?.metadata.tool_activity).toMatchObject({
      status: "failure",
      error: 'unknown tool "create_task". There are no tools.',
    });
  });
});
