import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Store } from "../../src/core/contract/activity.ts";
import { takeReady } from "../../src/core/call/take-ready.ts";
import { newFile, storeOn } from "../record/activity/stores.ts";
import { until } from "../support/until.ts";
import { workspace } from "../support/workspace.ts";
import { calls, looking, resultsIn, scripted } from "./support.ts";

const log = (text: string, id: string) => ({ id, name: "bash", input: { command: `echo ${text} >> log` } });

/** Agents of several processes in one thread, and what their commands have written. */
async function place() {
  const [file, workDir] = [newFile(), await workspace()];
  const open = (script: Parameters<typeof scripted>[0]) => {
    const tools = { preset: "coding", tools: [looking("look", async () => "seen")] } as const;
    const toolkit = { ...tools, workDir, policy: { shellConfirm: true }, park: "now", store: storeOn(file) } as const;
    return scripted(script, { toolkit, thread: "t" });
  };
  return { open, store: storeOn(file), written: () => readFile(join(workDir, "log"), "utf8").catch(() => "") };
}

async function answer(store: Store, approval: "once" | "refuse" = "once") {
  const [question] = await store.questions();
  return store.answer(question?.question ?? "", { answer: approval }, "test");
}

test("a turn ends as parked after its other calls, and continues in another process when all are answered", async () => {
  const { open, store, written } = await place();
  const first = await open([calls(log("one", "1"), { id: "2", name: "look", input: {} }, log("two", "3"))]);
  const end = await first.agent.send("Go");
  expect(end).toMatchObject({ reason: "parked", rounds: 1 });
  expect(end.message).toMatch(
    /^Waiting for a person: bash \(.+\), bash \(.+\)\. The turn continues when it is answered\.$/,
  );
  await first.agent.close();

  const second = await open([{ text: "All done." }]);
  expect(await second.agent.resume()).toMatchObject({ reason: "parked", rounds: 0 });
  await answer(store);
  expect(await second.agent.resume()).toMatchObject({ reason: "parked", rounds: 0 });
  expect(await written()).toBe("one\n");
  await answer(store, "refuse");
  expect(await second.agent.resume()).toMatchObject({ reason: "done", rounds: 1 });
  expect(Object.entries(resultsIn(second.model.requests[0]!))).toEqual([
    ["1", "(no output)"],
    ["2", "seen"],
    ["3", "Command execution denied by user."],
  ]);
  expect(await store.parked()).toEqual([]);
  expect(await second.agent.resume()).toMatchObject({ reason: "done", rounds: 0 });
});

test("when a person writes meanwhile, the call's result is that it waits, and its outcome is a notice", async () => {
  const { open, store, written } = await place();
  const { agent, model } = await open([calls(log("one", "1")), { text: "I wait." }, { text: "It is there." }]);
  await agent.send("Go");
  expect(await agent.send("And now?")).toMatchObject({ reason: "done" });
  expect(resultsIn(model.requests[1]!)["1"]).toMatch(/^This call of bash waits for a person, /);
  expect(await written()).toBe("");
  await answer(store);
  expect(await agent.resume()).toMatchObject({ reason: "done", rounds: 1 });
  expect(await written()).toBe("one\n");
  expect(JSON.stringify(model.requests[2]?.prompt.at(-1))).toContain("which waited for a person, has ended (ok)");
  expect(resultsIn(model.requests[2]!)["1"]).toMatch(/waits for a person/);
  expect(await store.parked()).toEqual([]);
});

test("a call that is answered while another one runs is made too, and the turn continues by itself", async () => {
  const { open, store, written } = await place();
  const command = "until [ -e go ]; do sleep 0.02; done; echo one >> log";
  const script = [calls({ id: "1", name: "bash", input: { command } }, log("two", "2")), { text: "Both." }];
  const { agent, model, toolkit } = await open(script);
  await agent.send("Go");
  const takeNoMore = takeReady(toolkit, { agents: () => agent.resume() });
  await answer(store);
  await until("the first runs", async () => (await store.parked({ states: ["taken"] })).length === 1);
  await answer(store);
  await toolkit.call({ name: "bash", input: { command: "touch go" } }, { approver: async () => ({ answer: "once" }) });
  await until("the turn has continued", async () => model.requests.length === 2);
  expect(Object.keys(resultsIn(model.requests[1]!))).toEqual(["1", "2"]);
  expect(await written()).toBe("one\ntwo\n");
  takeNoMore();
  await agent.close();
});

test("what was approved runs before the next message is read, and its notice never splits a call from its result", async () => {
  const { open, store } = await place();
  const script = [calls(log("one", "1")), calls(log("two", "2")), { text: "Both." }];
  const { agent, model } = await open(script);
  await agent.send("Go");
  await agent.send("Another one"); // parks the second call
  await answer(store); // the first one
  expect(await agent.resume()).toMatchObject({ reason: "parked", rounds: 0 });
  await answer(store);
  expect(await agent.resume()).toMatchObject({ reason: "done", rounds: 1 });
  const roles = model.requests[2]?.prompt.map(({ role }) => role);
  expect(roles).toEqual(["user", "assistant", "tool", "user", "assistant", "tool", "user"]);
});
