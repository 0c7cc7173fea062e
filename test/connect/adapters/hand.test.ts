import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type AdapterOptions, createHand } from "../../../src/connect/adapters/hand.ts";
import type { Approval } from "../../../src/core/contract/decision.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { newFile, storeOn } from "../../record/activity/stores.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

const deploy = { id: "call_1", name: "bash", input: '{"command":"sh deploy.sh"}' };
const look = { id: "call_2", name: "read", input: { path: "deploy.sh" } };

/** A place of work, and adapters of several processes that share its store. */
async function shared() {
  const file = newFile();
  const workDir = await workspace({ "deploy.sh": "echo one >> log\n" });
  const open = async (options: AdapterOptions = {}, more: ToolkitOptions = {}) => {
    const toolkit = await toolkitWith({ workDir, policy: { shellConfirm: true }, ...more, store: storeOn(file) });
    return { toolkit, ...createHand(toolkit, options, "test") };
  };
  return { workDir, open, log: () => readFile(join(workDir, "log"), "utf8").catch(() => "") };
}

test("a call that needs nobody is not asked about, and runs", async () => {
  const { open } = await shared();
  const { question, run, toolkit } = await open();
  expect(await question(look)).toBeUndefined();
  expect(asText(await run(look))).toBe("echo one >> log\n");
  expect(await toolkit.store.questions()).toEqual([]);
});

test("a call that needs a person is parked, and runs once when the SDK's person has approved it", async () => {
  const { open, log } = await shared();
  const { question, run } = await open();
  expect(await question(deploy)).toBe("Run: sh deploy.sh");
  expect(await question(deploy)).toBeDefined(); // SDKs ask again when they continue
  expect(await log()).toBe("");
  expect(await run(deploy)).toMatchObject({ status: "ok" });
  expect(await question(deploy)).toBeDefined();
  expect(await run(deploy)).toMatchObject({ status: "ok" });
  expect(await log()).toBe("one\n");
});

test("an approved call runs once when two toolkits of one store continue with it at the same time", async () => {
  const { open, log } = await shared();
  const first = await open();
  await first.question(deploy);
  await first.toolkit.close();
  const others = await Promise.all([open(), open()]);
  const results = await Promise.all(others.map(({ run }) => run(deploy)));
  expect(results.map(({ status }) => status)).toEqual(["ok", "ok"]);
  expect(await log()).toBe("one\n");
});

test("an approval does not count for other arguments under the same id, nor for a call that nobody was asked about", async () => {
  const { open, log } = await shared();
  const { question, run } = await open();
  expect(await run({ ...deploy, id: "call_3" })).toMatchObject({ status: "denied", by: "nobody" });
  await question(deploy);
  expect(await run({ ...deploy, input: { command: "echo two >> log" } })).toMatchObject({ status: "failed" });
  expect(await log()).toBe("");
});

test("an approval does not count when a file that the command names has changed since", async () => {
  const { open, log, workDir } = await shared();
  const { question, run } = await open();
  await question(deploy);
  await writeFile(join(workDir, "deploy.sh"), "echo other >> log\n");
  expect(await run(deploy)).toMatchObject({ status: "parked" });
  expect(await run(deploy)).toMatchObject({ status: "parked" }); // the SDK's state is continued once more
  expect(await log()).toBe("");
});

test("a refusal closes the question for everybody", async () => {
  const { open, log } = await shared();
  const { question, run, refuse, toolkit } = await open();
  await question(deploy);
  await refuse(deploy.id, "Not today.");
  expect(await toolkit.store.questions()).toEqual([]);
  expect(asText(await run(deploy))).toContain("denied by user. Not today.");
  expect(await log()).toBe("");
});

test("an answer from elsewhere, such as the console, counts if it comes first", async () => {
  const { open, log } = await shared();
  const { question, run, toolkit } = await open();
  await question(deploy);
  const [asked] = await toolkit.store.questions();
  await toolkit.store.answer(asked?.question ?? "", { answer: "refuse", reason: "No." }, "console");
  expect(await run(deploy)).toMatchObject({ status: "denied" });
  expect(await log()).toBe("");
});

describe("an answer for the SDK", () => {
  const asking = async () => {
    const { open, log } = await shared();
    const hand = await open();
    await hand.question(deploy);
    const [asked] = await hand.toolkit.store.questions();
    const inConsole = (approval: Approval) => hand.toolkit.store.answer(asked?.question ?? "", approval, "console");
    return { ...hand, log, inConsole };
  };
  /** A person who has not answered when somebody else does. */
  const tooLate = (signal: AbortSignal) =>
    new Promise<boolean>((resolve) => signal.addEventListener("abort", () => resolve(false)));

  test("is that of its person, with the words for the model if it is a refusal", async () => {
    const { answer, run, log } = await asking();
    expect(await answer(deploy.id, async () => ({ approved: false, reason: "Not today." }))).toEqual({
      approved: false,
      reason: "Command execution denied by user. Not today.",
    });
    expect(asText(await run(deploy))).toBe("Command execution denied by user. Not today.");
    expect(await log()).toBe("");
    expect(await (await asking()).answer(deploy.id, async () => true)).toEqual({ approved: true });
  });

  test("is that of the console when this comes first, and its person need not answer", async () => {
    const refused = await asking();
    const waiting = refused.answer(deploy.id, tooLate);
    await refused.inConsole({ answer: "refuse", reason: "No." });
    expect(await waiting).toEqual({ approved: false, reason: "Command execution denied by user. No." });
    const approved = await asking();
    await approved.inConsole({ answer: "once" });
    expect(await approved.answer(deploy.id, tooLate)).toEqual({ approved: true });
    expect(await approved.run(deploy)).toMatchObject({ status: "ok" });
    expect(await approved.answer(deploy.id, async () => false)).toEqual({ approved: true }); // it has run
    expect(await approved.log()).toBe("one\n");
  });

  test("about a call that nobody asked about is what its person says", async () => {
    const { answer } = await asking();
    expect(await answer("call_9", async () => ({ approved: false, reason: "Why?" }))).toEqual({
      approved: false,
      reason: "Why?",
    });
    await expect(answer(deploy.id, () => Promise.reject(new Error("no dialog")))).rejects.toThrow("no dialog");
  });
});

test("calls that touch one path are made in the order in which they came, and others at once", async () => {
  const { open, workDir } = await shared();
  const { run } = await open({}, { policy: { autonomy: "full" } });
  const ended: string[] = [];
  const made = (id: string, name: string, input: object) => run({ id, name, input }).finally(() => ended.push(id));
  const wait = made("wait", "bash", { command: "until [ -e go ]; do sleep 0.02; done; echo late > g.txt" });
  const seen = made("look", "read", { path: "g.txt" });
  await made("other", "no_tool", {});
  expect(ended).toEqual(["other"]);
  await writeFile(join(workDir, "go"), "");
  expect(asText(await seen)).toBe("late\n");
  expect(await wait).toMatchObject({ status: "ok" });
  expect(ended).toEqual(["other", "wait", "look"]);
});

test("with approvals of the toolkit the SDK asks nobody, and the toolkit's approver decides", async () => {
  const { open, log } = await shared();
  const { question, run } = await open({ approvals: "toolkit" }, { approver: async () => ({ answer: "once" }) });
  expect(await question(deploy)).toBeUndefined();
  expect(await run(deploy)).toMatchObject({ status: "ok" });
  expect(await log()).toBe("one\n");
});

test("what the policy denies, and what does not fit a tool, is not asked about", async () => {
  const { open } = await shared();
  const { question, run } = await open({}, { policy: { commands: { deny: ["sh *"] } } });
  expect(await question(deploy)).toBeUndefined();
  expect(await run(deploy)).toMatchObject({ status: "denied", by: "policy" });
  expect(await question({ id: "call_4", name: "read", input: {} })).toBeUndefined();
});

test("a signal stops a call", async () => {
  const { open } = await shared();
  const { run } = await open({}, { policy: { autonomy: "full" } });
  const stopping = new AbortController();
  stopping.abort();
  expect(await run({ ...deploy, id: "call_5" }, { signal: stopping.signal })).toMatchObject({ status: "aborted" });
});
