// A proposed call that a person changes before approving it.
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { CheckedCall } from "../../../src/core/contract/call.ts";
import type { Approval, Decision } from "../../../src/core/contract/decision.ts";
import type { Approver } from "../../../src/core/contract/policy.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { all } from "../../record/activity/events.ts";
import { newFile, storeOn } from "../../record/activity/stores.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

/** A person who gives these answers in order, and what they were asked. */
function person(...answers: readonly Approval[]) {
  const asked: { readonly call: CheckedCall; readonly decision: Decision }[] = [];
  const approver: Approver = async (call, decision) => {
    asked.push({ call, decision });
    const answer = answers[asked.length - 1];
    if (answer === undefined) throw new Error("asked once too often");
    return answer;
  };
  return { approver, asked };
}

const edited = (input: { readonly [argument: string]: string | boolean }): Approval => ({
  answer: "once",
  edited: input,
});

async function coding(approver: Approver, options: ToolkitOptions = {}) {
  const workDir = await workspace({ "sub/x": "x" });
  const toolkit = await toolkitWith({
    preset: "coding",
    workDir,
    policy: { shellConfirm: true },
    approver,
    ...options,
  });
  return { toolkit };
}

const run = (command: string) => ({ id: "a", name: "bash", input: { command } });

describe("a call that a person has changed", () => {
  test("runs as changed; the record has both; the model is told", async () => {
    const { approver, asked } = person(edited({ command: "echo safe" }));
    const { toolkit } = await coding(approver);
    const result = await toolkit.call(run("echo unsafe"));
    expect(asText(result)).toBe(
      '[A person changed this call before approving it. Its arguments are now: {"command":"echo safe"}.]\nsafe\n',
    );
    expect(asked).toHaveLength(1);
    const events = await all(toolkit.store, { call: "a" });
    expect(events.find(({ type }) => type === "call.started")).toMatchObject({ input: { command: "echo unsafe" } });
    expect(events.find(({ type }) => type === "approval.decided")).toMatchObject({
      approval: { answer: "once", edited: { command: "echo safe" } },
    });
    expect(events.find(({ type }) => type === "call.approved")).toMatchObject({ effects: [{ command: "echo safe" }] });
  });

  test("tells the model also when it fails", async () => {
    const { toolkit } = await coding(person(edited({ path: ".git/x", old_text: "a", new_text: "b" })).approver);
    const call = { name: "edit", input: { path: ".git/config", old_text: "a", new_text: "b" } };
    expect(asText(await toolkit.call(call))).toMatch(/^Tool error: [^]*A person changed this call .*"path":"\.git\/x"/);
  });

  test.each([
    ["what is denied stays denied", { path: "/etc/hostname", content: "" }, /It did not run\. .*\/etc/],
    ["it has to be valid", { path: 7 as never }, /It did not run\. validation error: /],
  ])("is judged from the start: %s", async (_, input, reason) => {
    const { toolkit } = await coding(person(edited(input)).approver);
    const result = await toolkit.call({ name: "write", input: { path: ".git/config", content: "" } });
    expect(result).toMatchObject({ status: "denied", by: "person", reason: expect.stringMatching(reason) as string });
    expect(asText(result)).toContain("A person changed this call before approving it.");
  });

  test.each<[what: string, input: { readonly [argument: string]: string | boolean }]>([
    ["of a higher risk", { command: "git push --force" }],
    ["that goes on in the background", { command: "echo safe", background: true }],
  ])("to one %s is asked about again, as changed", async (_, input) => {
    const { approver, asked } = person(edited(input), { answer: "refuse", reason: "Not that." });
    const { toolkit } = await coding(approver);
    const result = await toolkit.call(run("echo safe"));
    expect(asText(result)).toBe("Command execution denied by user. Not that.");
    expect(asked.map(({ call }) => call.request.input)).toEqual([{ command: "echo safe" }, input]);
  });

  test("can be changed again at the second question", async () => {
    const { approver } = person(edited({ command: "git push --force" }), edited({ command: "echo third" }));
    const { toolkit } = await coding(approver);
    expect(asText(await toolkit.call(run("echo first")))).toMatch(/now: \{"command":"echo third"\}\.\]\nthird\n$/);
  });

  test("to one with another kind of effect is asked about again", async () => {
    const { approver, asked } = person(edited({ page: true }), { answer: "once" });
    const tool = defineTool({
      ...{ name: "acts", description: "Delegates, or uses a page.", touches: ["delegate", "page"] },
      input: Type.Object({ page: Type.Boolean() }),
      effects: ({ page }) => [page ? { kind: "page", act: "submit" } : { kind: "delegate", agent: "x" }],
      run: async () => "done",
    });
    const toolkit = await toolkitWith({ tools: [tool], approver });
    expect(await toolkit.call({ name: "acts", input: { page: false } })).toMatchObject({ status: "ok" });
    expect(asked.map(({ call }) => call.effects[0]?.kind)).toEqual(["delegate", "page"]);
  });

  test.each([["text"], [null], [["command"]]])("arguments that are no object refuse: %j", async (given) => {
    const { toolkit } = await coding(person({ answer: "once", edited: given as never }).approver);
    expect(await toolkit.call(run("touch made"))).toMatchObject({ status: "denied", by: "person" });
  });

  test("runs as changed after it was parked, and not if that needs another approval", async () => {
    const file = newFile();
    const workDir = await workspace({});
    const open = () =>
      toolkitWith({ preset: "coding", workDir, policy: { shellConfirm: true }, park: "now", store: storeOn(file) });
    const toolkit = await open();
    for (const [id, command, text] of [
      ["a", "echo second", /Its arguments are now: \{"command":"echo second"\}\.\]\nsecond\n$/],
      ["b", "git push --force", /It did not run, because it needs an approval of its own: /],
    ] as const) {
      await toolkit.call({ id, name: "bash", input: { command: "echo first" } });
      const [question] = await toolkit.store.questions();
      await toolkit.store.answer(question?.question ?? "", edited({ command }), "test");
      expect(asText(await (await open()).resume(id))).toMatch(text);
    }
  });
});
