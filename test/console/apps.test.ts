import { describe, expect, test } from "vitest";
import type { StoredEvent } from "../../src/contract/activity.ts";
import { loadCompiler } from "../../src/engine/validate.ts";
import { until } from "../support/until.ts";
import { type Served, served } from "./served.ts";

/** A check of a value against a schema of the served description. */
async function fits({ json }: Served, name: string): Promise<(value: unknown) => readonly unknown[]> {
  const { components } = await json<{ components: object }>("GET", "/api/openapi.json");
  const schema = (await loadCompiler())({ $ref: `#/components/schemas/${name}`, components });
  return (value) => (schema.Check(value) ? [] : schema.Errors(value)[1]);
}

async function recorded({ store }: Served): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const event of store.events()) events.push(event);
  return events;
}

describe("the description", () => {
  test("has every event and cell of a thread with a prompt, a question and a failed call", async () => {
    const api = await served(
      { preset: "coding", policy: { autonomy: "supervised" } },
      {
        script: [
          { calls: [{ name: "bash", input: { command: "touch made; sleep 0 & echo hi" } }] },
          { calls: [{ name: "read", input: { path: "none" } }] },
          { text: "Done." },
        ],
      },
    );
    await api.json("POST", "/api/threads/main/prompts", { text: "Make it." });
    type Approvals = { readonly approvals: readonly { readonly question: string }[] };
    const asked = async () => (await api.json<Approvals>("GET", "/api/approvals")).approvals;
    await until("it asks", async () => (await asked()).length === 1);
    const [question] = await asked();
    expect((await fits(api, "Question"))(question)).toEqual([]);
    await api.json("POST", `/api/approvals/${question?.question}`, { answer: "once" });
    await until("the turn has ended", async () => (await recorded(api)).some(({ type }) => type === "turn.ended"));
    const [event, message] = [await fits(api, "Event"), await fits(api, "ThreadMessage")];
    const events = await recorded(api);
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["approval.decided", "call.finished"]));
    for (const each of events) expect(event(each), each.type).toEqual([]);
    const { messages } = await api.json<{ messages: readonly object[] }>("GET", "/api/threads/main/messages");
    expect(messages.length).toBe(6);
    for (const each of messages) expect(message(each)).toEqual([]);
    expect(event({ ...events[0], at: "today" })).not.toEqual([]);
    expect(event({ ...events[0], type: "call.invented" })).not.toEqual([]);
  });
});

describe("a call's cell", () => {
  test("is changed from outside while the call runs and after its end, but never its status", async () => {
    const api = await served({ mask: { values: ["correct-horse-9"] } });
    const { call } = await api.json<{ call: string }>("POST", "/api/threads/main/calls", {
      ...{ name: "bash", input: { command: "while [ ! -e go ]; do sleep 0.01; done" } },
    });
    await until("it has started", async () => (await api.ask("GET", `/api/calls/${call}`)).status === 200);
    const change = (body: object) => api.ask("POST", `/api/calls/${call}/activity`, body);
    const cell = async (answer: Response) => {
      const { message } = (await answer.json()) as { message: { metadata: { tool_activity: object } } };
      return message.metadata.tool_activity;
    };
    expect(
      await cell(await change({ display_message: "Uploading", data: { file: "a correct-horse-9" } })),
    ).toMatchObject({ status: "in_progress", display_message: "Uploading", data: { file: "a [masked: secret]" } });
    expect(await cell(await change({ display_message: null, error: "x".repeat(300) }))).toMatchObject({
      error: expect.stringMatching(/^x{1,199}…$/),
    });
    await api.json("POST", "/api/threads/main/calls", { name: "bash", input: { command: "touch go" }, wait: true });
    type Shown = { readonly message: { readonly result?: string } };
    const hasEnded = async () => (await api.json<Shown>("GET", `/api/calls/${call}`)).message.result !== undefined;
    await until("it has ended", hasEnded);
    const after = await cell(await change({ error: null, data: { task_status: "done" } }));
    expect(after).toMatchObject({ status: "success", data: { file: "a [masked: secret]", task_status: "done" } });
    expect(after).not.toHaveProperty("error");
    expect(after).not.toHaveProperty("display_message");
    const late = await change({ display_message: "Late" });
    expect([late.status, await late.json()]).toMatchObject([409, { detail: expect.stringMatching(/has ended/) }]);
    for (const wrong of [{}, { status: "success" }, { data: "done" }]) expect((await change(wrong)).status).toBe(400);
    expect((await api.ask("POST", "/api/calls/none/activity", { error: null })).status).toBe(404);
  });
});
