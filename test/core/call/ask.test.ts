import { describe, expect, test } from "vitest";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import type { Approver } from "../../../src/core/contract/policy.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { all } from "../../record/activity/events.ts";
import { until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

async function asking(options: ToolkitOptions = {}) {
  const store = options.store ?? memoryStore();
  const workDir = await workspace();
  const toolkit = await toolkitWith({ preset: "coding", workDir, policy: { shellConfirm: true }, ...options, store });
  const echo = (id: string, command = "echo hi", thread = "main") =>
    toolkit.call({ id, thread, name: "bash", input: { command } });
  const asked = async (call: string) => {
    let question = "";
    await until(`${call} is asked about`, async () => {
      question = (await store.questions()).find((each) => each.call === call)?.question ?? "";
      return question !== "";
    });
    return question;
  };
  return { store, toolkit, echo, asked };
}

describe("without an approver", () => {
  test("an answer from the store is waited for, and each is used for its own call", async () => {
    const { store, echo, asked } = await asking();
    await store.attend();
    const calls = [echo("a"), echo("b", "echo other")];
    await store.answer(await asked("b"), { answer: "refuse", reason: "No." }, "test");
    expect(asText(await calls[1]!)).toBe("Command execution denied by user. No.");
    await store.answer(await asked("a"), { answer: "once" }, "test");
    expect(asText(await calls[0]!)).toBe("hi\n");
    const again = echo("c");
    await store.answer(await asked("c"), { answer: "session" }, "test");
    expect(asText(await again)).toBe("hi\n");
    expect(asText(await echo("d"))).toBe("hi\n"); // the session's grant
    const shown = (await all(store, { call: "a" })).flatMap((event) =>
      event.type === "call.updated" && event.update.displayMessage !== undefined ? [event.update.displayMessage] : [],
    );
    expect(shown).toEqual(["Waiting for a person's answer", null]);
  });

  test("an invalid answer refuses", async () => {
    const { store, echo, asked } = await asking();
    await store.attend();
    const call = echo("a");
    await store.answer(await asked("a"), { answer: "yes" } as never, "test");
    expect(asText(await call)).toBe('Command execution denied by user. The answer was {"answer":"yes"}.');
  });

  test("an effect that a tool requests unasked is denied at once", async () => {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: {},
      touches: ["exec"],
      run: async (_, { permit }) => {
        await permit({ kind: "exec", command: "true" }, { unasked: true });
        return null;
      },
    });
    const { store, toolkit } = await asking({ tools: [look] });
    await store.attend();
    expect(await toolkit.call({ name: "look", input: {} })).toMatchObject({ status: "denied" });
    expect(await all(store, { types: ["approval.requested"] })).toEqual([]);
  });

  test("a question without an answer in time is closed, and the call is denied with that reason", async () => {
    const { store, echo, asked } = await asking({ answerWithinMs: 300, howToApprove: "Ask Ann." });
    await store.attend();
    const call = echo("a");
    const question = await asked("a");
    expect(asText(await call)).toMatch(/, and nobody answered within 0 seconds\. Ask Ann\.$/);
    expect(await store.answer(question, { answer: "once" }, "test")).toMatchObject({ status: "closed" });
  });

  test("when nobody who can answer is connected any more, it is denied", async () => {
    const { store, echo, asked } = await asking();
    const leave = await store.attend();
    const call = echo("a");
    await asked("a");
    await leave();
    expect(asText(await call)).toContain(
      "and nobody who can answer is connected any more. To allow it, pass an approver",
    );
  });
});

describe("with an approver", () => {
  /** A person who is asked, and does not answer until the question is withdrawn. */
  function slow(): { approver: Approver; gone: () => number } {
    let gone = 0;
    const approver: Approver = (_, __, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          gone += 1;
          reject(signal.reason as Error);
        });
      });
    return { approver, gone: () => gone };
  }

  test("an answer from another process comes first and closes the question", async () => {
    const { approver, gone } = slow();
    const { store, echo, asked } = await asking({ approver });
    const call = echo("a");
    await store.answer(await asked("a"), { answer: "once" }, "page");
    expect(asText(await call)).toBe("hi\n");
    expect(gone()).toBe(1);
  });

  test("its answer comes first, and is recorded once with its origin", async () => {
    const { store, echo } = await asking({ approver: async () => ({ answer: "once", by: "terminal" }) });
    const seen: string[] = [];
    expect(asText(await echo("a"))).toBe("hi\n");
    for (const event of await all(store, { types: ["approval.decided"] })) seen.push(JSON.stringify(event));
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain('"approval":{"answer":"once"},"by":"terminal"');
  });

  test("its late answer changes nothing", async () => {
    let answer = (_: { answer: "once" }) => {};
    const approver: Approver = () => new Promise((resolve) => (answer = resolve));
    const { store, echo, asked } = await asking({ approver });
    const call = echo("a");
    await store.answer(await asked("a"), { answer: "refuse" }, "page");
    answer({ answer: "once" });
    expect(await call).toMatchObject({ status: "denied", by: "person" });
    expect(await all(store, { types: ["approval.decided"] })).toHaveLength(1);
  });
});

describe("stops", () => {
  const stop = { type: "stop.requested", thread: "main", by: "test" } as const;

  test("end a call, the calls of a thread, and a job, and nothing else", async () => {
    const { store, toolkit, echo } = await asking({ policy: { autonomy: "full" } });
    const calls = [
      echo("a", "sleep 600"),
      echo("b", "sleep 600"),
      echo("c", "sleep 600", "t"),
      echo("d", "sleep 600", "t"),
    ];
    const runs = async () => (await all(store, { types: ["call.approved"] })).length;
    await until("all run", async () => (await runs()) === 4);
    store.append({ ...stop, call: "a", at: Date.now() });
    expect(await calls[0]).toMatchObject({ status: "aborted" });
    store.append({ ...stop, thread: "t", at: Date.now() });
    expect(await Promise.all(calls.slice(2))).toMatchObject([{ status: "aborted" }, { status: "aborted" }]);
    for (const id of ["j", "k"]) {
      await toolkit.call({ id, name: "bash", input: { command: `sleep 600 # ${id}`, background: true } });
    }
    store.append({ ...stop, call: "k", job: "1", at: Date.now() }); // job 1 belongs to another call
    store.append({ ...stop, call: "k", job: "2", at: Date.now() });
    await until(
      "job 2 has ended",
      async () => (await store.jobs()).find(({ job }) => job === "2")?.ended !== undefined,
    );
    expect((await store.jobs()).find(({ job }) => job === "1")?.ended).toBeUndefined();
    store.append({ ...stop, call: "b", at: Date.now() });
    expect(await calls[1]).toMatchObject({ status: "aborted" });
  });
});
