import { describe, expect, test } from "vitest";
import { CLIENT, type ClientName, type Judged, type ToolInput } from "../../../src/connect/guard/clients.ts";
import { type Contained, createGuard } from "../../../src/connect/guard/judge.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { all } from "../../record/activity/events.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

async function guarded({ ask = "client", ...options }: ToolkitOptions & { readonly ask?: "client" | "here" } = {}) {
  const project = await workspace({ "a.txt": "one\n", ".env": "KEY=1\n" });
  const toolkit = await toolkitWith({
    workDir: project,
    preset: "none",
    filesOf: "machine",
    park: { afterMs: 60_000 },
    ...options,
  });
  const runs: Contained[] = [];
  const contained = async (run: Contained) => `contained ${runs.push(run)}`;
  const guard = createGuard({ toolkit, ask, contained });
  let calls = 0;
  const happening = (tool: string, input: ToolInput, more: object = {}) =>
    ({ session: "s", cwd: project, project, phase: "before", id: `c${(calls += 1)}`, tool, input, ...more }) as const;
  return { project, toolkit, runs, guard, happening };
}

describe("the guard", () => {
  test("allows, contains, denies and asks as the policy does for tools of its own", async () => {
    const { guard, happening, runs, toolkit } = await guarded();
    const verdict = (tool: string, input: ToolInput) => guard.before("claude-code", happening(tool, input));
    expect(await verdict("Read", { file_path: "a.txt" })).toEqual({ verdict: "allow" });
    expect(await verdict("TodoWrite", {})).toEqual({ verdict: "pass" });
    expect(await verdict("Read", { file_path: ".env" })).toMatchObject({
      verdict: "ask",
      reason: expect.stringContaining("environment secrets"),
    });
    expect(await verdict("Bash", { command: "rm -rf /" })).toMatchObject({
      verdict: "deny",
      reason: expect.stringMatching(/^Handrail: /),
    });
    expect(await verdict("mcp__github__create_issue", {})).toMatchObject({ verdict: "ask" });
    const contained = await verdict("Bash", { command: "npm test", timeout: 5 });
    if (toolkit.backend.sandbox === undefined) {
      expect(contained).toMatchObject({ verdict: "ask" });
      return;
    }
    expect(contained).toEqual({ verdict: "allow", input: { command: "contained 1", timeout: 5 } });
    expect(runs).toMatchObject([{ command: "npm test", thread: "claude-code:s" }]);
  });

  test("records a call from its beginning to its end, with what it returned", async () => {
    const { guard, happening, toolkit } = await guarded();
    const read = happening("Read", { file_path: "a.txt" });
    await guard.before("claude-code", read);
    expect(guard.running()).toBe(1);
    guard.after("claude-code", { ...read, phase: "after", result: "one" });
    await expect.poll(() => guard.running()).toBe(0);
    const failing = happening("Read", { file_path: "b.txt" }, { id: undefined });
    await guard.before("gemini", failing);
    guard.after("gemini", { ...failing, phase: "after", result: "no such file", failed: true });
    await expect.poll(() => guard.running()).toBe(0);
    const events = await all(toolkit.store);
    const ends = events.filter((event) => event.type === "call.finished");
    expect(ends).toMatchObject([
      { thread: "claude-code:s", call: "claude-code:s:c1", status: "ok", content: [{ text: "one" }] },
      { thread: "gemini:s", status: "failed", error: "no such file" },
    ]);
  });

  test("ends calls without an end when the person writes again; their words are the thread's title", async () => {
    const { guard, happening, toolkit, project } = await guarded();
    await guard.before("claude-code", happening("Read", { file_path: ".env" }));
    const where = { session: "s", cwd: project, project };
    await guard.prompt("claude-code", { ...where, phase: "prompt", text: "Not that file, please." });
    await expect.poll(() => guard.running()).toBe(0);
    expect(await toolkit.store.threads()).toMatchObject([{ thread: "claude-code:s", title: "Not that file, please." }]);
  });

  test("asks people through the store, and the answer counts when the client repeats the call", async () => {
    const { guard, happening, toolkit } = await guarded({ ask: "here" });
    const call = { file_path: ".env" };
    const [first, again] = [happening("Read", call), happening("Read", call)];
    expect(await guard.before("claude-code", first)).toMatchObject({
      verdict: "deny",
      reason: expect.stringContaining("has not answered yet"),
    });
    expect(await guard.before("claude-code", again)).toMatchObject({ verdict: "deny" });
    const questions = await toolkit.store.questions();
    expect(questions).toHaveLength(1);
    await toolkit.store.answer(questions[0]?.question ?? "", { answer: "once" }, "phone");
    const last = happening("Read", call);
    expect(await guard.before("claude-code", last)).toEqual({ verdict: "allow" });
    guard.after("claude-code", { ...last, phase: "after", result: "KEY=1" });
    await expect.poll(() => guard.running()).toBe(0);
    // It was for one call.
    expect(await guard.before("claude-code", happening("Read", call))).toMatchObject({ verdict: "deny" });
  });

  test("tells the client that a person refused, and asks about the next such call again", async () => {
    const { guard, happening, toolkit } = await guarded({ ask: "here" });
    const call = () =>
      guard.before(
        "codex",
        happening("apply_patch", { command: "*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch" }),
      );
    await call();
    const [question] = await toolkit.store.questions();
    await toolkit.store.answer(question?.question ?? "", { answer: "refuse", reason: "use a script" }, "browser");
    expect(await call()).toMatchObject({ verdict: "deny", reason: expect.stringContaining("use a script") });
    expect(await call()).toMatchObject({ verdict: "deny", reason: expect.stringContaining("has not answered yet") });
  });
});

describe("an answer in the form of its client", () => {
  const deny = { verdict: "deny", reason: "why" } as const;
  const changed = { verdict: "allow", input: { command: "x" } } as const;
  const CASES: { readonly [what: string]: readonly [ClientName, Judged, reply: unknown] } = {
    "Claude Code denies": [
      ...(["claude-code", deny] as const),
      {
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "deny",
          permissionDecisionReason: "why",
        },
      },
    ],
    "Claude Code asks, with a changed command": [
      ...(["claude-code", { verdict: "ask", reason: "why", input: { command: "x" } }] as const),
      {
        hookSpecificOutput: {
          ...{ hookEventName: "PreToolUse", permissionDecision: "ask", permissionDecisionReason: "why" },
          updatedInput: { command: "x" },
        },
      },
    ],
    "codex allows by silence": ["codex", { verdict: "allow" }, ""],
    "codex runs a changed command": [
      ...(["codex", changed] as const),
      {
        hookSpecificOutput: {
          ...{ hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput: { command: "x" } },
        },
      },
    ],
    "Gemini denies": ["gemini", deny, { decision: "deny", reason: "why" }],
    "Gemini runs a changed command": [
      ...(["gemini", changed] as const),
      { decision: "allow", hookSpecificOutput: { hookEventName: "BeforeTool", tool_input: { command: "x" } } },
    ],
    "Cursor denies": ["cursor", deny, { permission: "deny", user_message: "why", agent_message: "why" }],
    "Cursor runs a changed command": ["cursor", changed, { permission: "allow", updated_input: { command: "x" } }],
    "opencode's plugin gets the verdict": ["opencode", deny, deny],
  };
  test.for(Object.entries(CASES))("%s", ([, [client, verdict, reply]]) => {
    const printed = CLIENT[client].reply(verdict);
    expect(printed === "" ? "" : JSON.parse(printed)).toEqual(reply);
  });
});
