import { describe, expect, test } from "vitest";
import type { CallEvent } from "../../../src/core/contract/activity.ts";
import type { ActFollowUp, BeforeAct } from "../../../src/core/contract/call.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import { ToolFailure } from "../../../src/core/contract/failure.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import { toolkitWith } from "../../support/workspace.ts";

const WRITE: Effect = { kind: "write", path: "a.txt" };
const READ: Effect = { kind: "read", path: "a.txt" };

/** Makes a call of a tool with these effects. Returns what the hook and the tool did, in order. */
async function watched(effects: readonly Effect[], run: Tool["run"], followUp?: ActFollowUp | Error) {
  const done: string[] = [];
  const beforeAct: BeforeAct = async (call, _, update) => {
    done.push(`hook ${call.effects.map(({ kind }) => kind).join(" ")}`);
    update({ displayMessage: "Keeping the files" });
    if (followUp instanceof Error) throw followUp;
    return followUp && { ...followUp, ended: () => void done.push("ended") };
  };
  const tool = defineTool({
    name: "doing",
    description: "Does it.",
    touches: ["read", "write"],
    input: {},
    effects: () => effects,
    run(input, context) {
      done.push("tool");
      return run(input, context);
    },
  });
  const toolkit = await toolkitWith({ tools: [tool], beforeAct });
  const shown: unknown[] = [];
  const onEvent = (event: CallEvent) => event.type === "call.updated" && shown.push(event.update.displayMessage);
  const text = asText(await toolkit.call({ name: "doing", input: {} }, { onEvent }));
  return { text, done, shown };
}

describe("beforeAct", () => {
  test("an act waits for the hook, which shows what it does; its end is reported with the notice", async () => {
    const { text, done, shown } = await watched([WRITE], async () => "written", { notice: "kept" });
    expect(shown).toEqual(["Keeping the files"]);
    expect(done).toEqual(["hook write", "tool", "ended"]);
    expect(text).toBe("written\n[kept]");
  });

  test("a call that only reads does not run it", async () => {
    expect((await watched([READ], async () => null)).done).toEqual(["tool"]);
  });

  test("it runs for an act that is permitted while the tool runs", async () => {
    const { done } = await watched([READ], async (_, context) => (await context.permit(WRITE), null), {});
    expect(done).toEqual(["tool", "hook write", "ended"]);
  });

  test("when it rejects, nothing has run", async () => {
    const { text, done } = await watched([WRITE], async () => null, new ToolFailure("the disk is full"));
    expect(done).toEqual(["hook write"]);
    expect(text).toBe("Tool error: the disk is full");
  });

  test("the notice is also in the result of a failed tool", async () => {
    const failing = async () => Promise.reject(new ToolFailure("no such table"));
    const { text, done } = await watched([WRITE], failing, { notice: "kept" });
    expect(done).toEqual(["hook write", "tool", "ended"]);
    expect(text).toBe("Tool error: no such table\n[kept]");
  });
});
