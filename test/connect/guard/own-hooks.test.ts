import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HookGroup, HookHandler, HookSettings } from "../../../src/connect/guard/hook-settings.ts";
import { createHooks } from "../../../src/connect/guard/own-hooks.ts";
import { asText } from "../../../src/core/call/result.ts";
import { calls, scripted } from "../../agent/support.ts";
import { all } from "../../record/activity/events.ts";
import { requireProgram } from "../../support/here.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

const command = (script: string, more: Partial<HookHandler> = {}): HookHandler => ({
  type: "command",
  command: script,
  ...more,
});
const on = (matcher: string, ...hooks: readonly HookHandler[]): HookGroup => ({ matcher, hooks });
const prints = (output: object) => command(`cat > /dev/null; printf %s '${JSON.stringify(output)}'`);
const decides = (permissionDecision: string, more: object = {}) =>
  prints({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, ...more } });

/** A toolkit with these hooks, whose programs need no trust here. */
async function hooking(
  settings: HookSettings,
  more: { readonly except?: readonly string[]; readonly held?: string } = {},
) {
  const folder = await workspace({ "a.txt": "one\n", "b.txt": "two\n", ".env": "KEY=1\n" });
  const told: string[] = [];
  const hooks = createHooks({
    ...{ settings, isLocal: true, mode: "default", except: more.except ?? [] },
    mayStart: async () => more.held,
    tell: (words) => told.push(words),
  });
  const options = { workDir: folder, preset: "coding", hooks } as const;
  const toolkit = await toolkitWith(options);
  const text = async (name: string, input: object) => asText(await toolkit.call({ name, input }));
  return { folder, toolkit, text, told, options };
}

describe("a hook before a call", () => {
  const READ = { name: "read", input: { path: "a.txt" } };
  const RUN = { name: "bash", input: { command: "touch made" } };
  const REFUSED: {
    readonly [what: string]: readonly [HookSettings["PreToolUse"], call: typeof READ | typeof RUN, text: RegExp];
  } = {
    "exit code 2": [[on("Read", command("echo not that file >&2; exit 2"))], READ, /^not that file$/],
    deny: [[on("Bash|Read", decides("deny", { permissionDecisionReason: "no" }))], READ, /^no$/],
    "the older form": [[on(".*", prints({ decision: "block", reason: "old" }))], READ, /^old$/],
    "continue: false": [[on("", prints({ continue: false, stopReason: "enough" }))], READ, /^enough$/],
    "a failure that blocks": [[on("*", command("exit 1", { onFailure: "block" }))], READ, /failed: exit code 1/],
    "no answer in time": [
      [on("*", command("exec sleep 60", { timeout: 0.1, onFailure: "block" }))],
      READ,
      /no answer within 0.1 s/,
    ],
    "the strictest of several": [[on("*", decides("allow"), decides("ask"), decides("deny"))], READ, /hook refused/],
    "ask, with nobody to ask": [
      [on("Read", decides("ask", { permissionDecisionReason: "odd" }))],
      READ,
      /^odd, and there is nobody/,
    ],
    "a project's allow": [[{ ...on("Bash", decides("allow")), project: "trusted" }], RUN, /there is nobody to ask/],
    "an allow for another input": [
      [
        on("Bash", decides("allow")),
        on("Bash", prints({ hookSpecificOutput: { updatedInput: { command: "touch other" } } })),
      ],
      RUN,
      /there is nobody to ask/,
    ],
  };
  test.for(Object.entries(REFUSED))("refuses: %s", async ([, [PreToolUse = [], call, expected]]) => {
    const { text } = await hooking({ PreToolUse });
    expect(await text(call.name, call.input)).toMatch(expected);
  });

  test("that says nothing, fails or is about another tool changes nothing; people are told of a failure", async () => {
    const { text, told, toolkit } = await hooking({
      PreToolUse: [
        on("Write|Edit", command("exit 2")),
        on("mcp__.*", command("exit 2")),
        on("Read", command("cat"), command("echo broken >&2; exit 1"), command("sleep 2 &")),
      ],
    });
    expect(await text("read", { path: "a.txt" })).toBe("one\n");
    expect(told).toEqual(["the PreToolUse hook echo broken >&2; exit 1 failed: exit code 1: broken"]);
    expect((await all(toolkit.store)).filter(({ type }) => type === "call.hooked")).toEqual([]);
  });

  test("answers a question with allow; not what only a person or a rule of the user answers", async () => {
    const settings = { PreToolUse: [on("Bash|Write", decides("allow"))] };
    const { text } = await hooking(settings);
    expect(await text("bash", { command: "touch made" })).not.toContain("nobody");
    expect(await text("bash", { command: "rm -rf /" })).toContain("not allowed by security policy");
    expect(await text("write", { path: ".git/hooks/pre-commit", content: "x" })).toContain("nobody");
    const ruled = await hooking(settings, { except: ["touch *"] });
    const toolkit = await toolkitWith({ ...ruled.options, policy: { commands: { ask: ["touch *"] } } });
    expect(asText(await toolkit.call({ name: "bash", input: { command: "touch made" } }))).toContain("nobody");
  });

  test("changes the input, which is checked and judged again; the record has both", async () => {
    const to = (path: string) => prints({ hookSpecificOutput: { updatedInput: { file_path: path } } });
    const { text, toolkit, folder } = await hooking({ PreToolUse: [on("Read", to("b.txt"))] });
    expect(await text("read", { path: "a.txt" })).toMatch(/changed this call.*"path":"b.txt".*\ntwo\n$/s);
    const [started, hooked] = await all(toolkit.store);
    expect(started).toMatchObject({ type: "call.started", input: { path: "a.txt" } });
    expect(hooked).toMatchObject({ type: "call.hooked", event: "PreToolUse", input: { path: "b.txt" } });
    const secret = await hooking({ PreToolUse: [on("Read", to(".env"))] });
    expect(await secret.text("read", { path: "a.txt" })).toContain("nobody");
    const wrong = await hooking({ PreToolUse: [on("Read", to(""))] });
    expect(await wrong.text("read", { path: "a.txt" })).toContain("validation error");
    expect(folder).not.toBe("");
  });

  test("of the user sees what a project's has made of the call", async () => {
    const { text } = await hooking({
      PreToolUse: [
        on("Bash", command(`if grep -q evil; then echo seen >&2; exit 2; fi`)),
        {
          ...on("Bash", prints({ hookSpecificOutput: { updatedInput: { command: "echo evil" } } })),
          project: "trusted",
        },
        { ...on("Bash", command("exit 2")), project: "not trusted" },
      ],
    });
    expect(await text("bash", { command: "echo good" })).toBe("seen");
  });

  test("gets the event in the names of Claude Code, where the call works", async () => {
    const { text, folder } = await hooking({ PreToolUse: [on("Edit", command('cat > "$CLAUDE_PROJECT_DIR/event"'))] });
    await text("edit", { path: "a.txt", old_text: "one", new_text: "1" });
    const event = JSON.parse(await readFile(join(folder, "event"), "utf8")) as object;
    expect(event).toMatchObject({
      ...{ session_id: "main", cwd: folder, hook_event_name: "PreToolUse", permission_mode: "default" },
      ...{ tool_name: "Edit", tool_use_id: expect.any(String) },
      tool_input: { file_path: join(folder, "a.txt"), old_string: "one", new_string: "1" },
    });
  });

  test("whose program may not be started blocks the call", async () => {
    const { text } = await hooking({ PreToolUse: [on("Read", command("./check.sh"))] }, { held: "is not started" });
    expect(await text("read", { path: "a.txt" })).toBe("The PreToolUse hook ./check.sh is not started");
  });
});

describe("a hook after a call", () => {
  test("adds what the model should know, or replaces the result", async () => {
    requireProgram("jq");
    const { text, folder, toolkit } = await hooking({
      PostToolUse: [
        on("Write", command('jq -r .tool_input.file_path > written; echo "lint: line 1" >&2; exit 2')),
        on("Read", prints({ hookSpecificOutput: { updatedToolOutput: "instead", additionalContext: "of it" } })),
      ],
    });
    const written = await toolkit.call(
      { name: "write", input: { path: "a.txt", content: "x" } },
      { approver: async () => ({ answer: "once" }) },
    );
    expect(asText(written)).toMatch(/\n\[PostToolUse hook: lint: line 1\]$/);
    expect(await readFile(join(folder, "written"), "utf8")).toBe(`${join(folder, "a.txt")}\n`);
    expect(await text("read", { path: "a.txt" })).toBe("instead\n[PostToolUse hook: of it]");
  });
});

describe("hooks in the turns of an agent", () => {
  const log = command(
    'jq -c "[.hook_event_name, .source // .prompt // (.stop_hook_active | tostring)]" >> "$CLAUDE_PROJECT_DIR/log"',
  );
  const turn = async (settings: HookSettings, script: Parameters<typeof scripted>[0]) => {
    const { options, folder } = await hooking(settings);
    const made = await scripted(script, { toolkit: options });
    const events = async () =>
      (await readFile(join(folder, "log"), "utf8"))
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
    return { ...made, events };
  };

  test("add to a prompt and to the beginning, and make the agent continue once", async () => {
    requireProgram("jq");
    const goOn = command('jq -e .stop_hook_active > /dev/null || { echo "run the tests" >&2; exit 2; }');
    const { agent, model, events } = await turn(
      {
        SessionStart: [on("startup", log, command("echo branch main")), on("resume", command("echo wrong"))],
        UserPromptSubmit: [{ hooks: [log, command("echo it is Monday")] }],
        Stop: [{ hooks: [log, goOn] }],
      },
      [{ text: "First." }, { text: "Second." }, { text: "Third." }],
    );
    expect(await agent.send("Hello")).toMatchObject({ reason: "done", rounds: 2 });
    const prompt = JSON.stringify(model.requests.at(-1)?.prompt);
    for (const words of ["branch main", "it is Monday", "continue: run the tests"]) expect(prompt).toContain(words);
    expect(prompt).not.toContain("wrong");
    await agent.send("More");
    expect((await events()).slice(0, 4)).toEqual([
      ["UserPromptSubmit", "Hello"],
      ["SessionStart", "startup"],
      ["Stop", "false"],
      ["Stop", "true"],
    ]);
  });

  test("refuse a prompt, end a turn from a call, and refuse to shorten", async () => {
    const { agent, model } = await turn(
      {
        UserPromptSubmit: [{ hooks: [command('grep -q secret && { echo "no secrets" >&2; exit 2; }; exit 0')] }],
        PreToolUse: [on("Read", prints({ continue: false, stopReason: "enough read" }))],
        PreCompact: [on("manual", command("echo keep it >&2; exit 2"))],
      },
      [calls({ id: "c", name: "read", input: { path: "a.txt" } }), { text: "Never asked for." }],
    );
    expect(await agent.send("a secret")).toMatchObject({
      reason: "failed",
      message: "The prompt was refused: no secrets",
    });
    expect(model.requests).toHaveLength(0);
    expect(await agent.send("Read it")).toMatchObject({ reason: "stopped", message: "enough read", rounds: 1 });
    await agent.compact("");
    expect(model.requests).toHaveLength(1);
  });
});
