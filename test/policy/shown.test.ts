// An approval covers what was shown: what a question shows of a change, and how long each command can be granted.
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { askClient } from "../../src/cli/acp/permission.ts";
import { questionOf } from "../../src/cli/approver.ts";
import { questionsText } from "../../src/cli/commands/approvals.ts";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import type { Decision } from "../../src/core/contract/decision.ts";
import { approvalForm, approvalOf, offeredBy, wantsWhole } from "../../src/connect/mcp/question.ts";
import type { Json } from "../../src/core/contract/schema.ts";
import { describeCall } from "../../src/policy/describe.ts";
import { longestGrant } from "../../src/policy/scopes.ts";
import { layout } from "../support/layout.ts";

async function asking(answer: "once" | "always" = "once") {
  const world = await layout();
  const asked: { readonly call: CheckedCall; readonly decision: Decision }[] = [];
  const open = () =>
    world.toolkit({
      preset: "workspace",
      approver: async (call, decision) => {
        asked.push({ call, decision });
        return { answer };
      },
    });
  return { world, asked, open };
}

describe("a question about a change", () => {
  test.each([
    ["write", { path: ".vscode/settings.json", content: '{"a":2}\n' }],
    ["edit", { path: ".vscode/settings.json", old_text: '"a":1', new_text: '"a":2' }],
  ])("of %s shows it, in every channel, and is for that content alone", async (name, input) => {
    const { world, asked, open } = await asking("always");
    const path = await world.file(".vscode/settings.json", '{"a":1}\n');
    const toolkit = await open();
    expect(await toolkit.call({ name, input })).toMatchObject({ status: "ok" });
    expect(await readFile(path, "utf8")).toBe('{"a":2}\n');
    const [{ call, decision } = { call: {} as CheckedCall, decision: {} as Decision }] = asked;
    const change = '-{"a":1}\n+{"a":2}';
    expect(describeCall(call)).toContain(change);
    expect(questionOf(call, decision).text).toContain(change);
    expect(approvalForm(call, decision, "2025-11-25").message).toContain(change);
    expect(longestGrant(decision)).toBe("once");
    await world.file(".vscode/settings.json", '{"a":1}\n');
    await toolkit.call({ name, input });
    expect(asked).toHaveLength(2);
  });

  test("shows the new content of a secret, and not the old one", async () => {
    const { world, asked, open } = await asking();
    await world.file(".env", "TOKEN=old\n");
    await (await open()).call({ name: "write", input: { path: ".env", content: "TOKEN=new\n" } });
    const shown = asked.map(({ call }) => describeCall(call)).join();
    expect(shown).toContain("+TOKEN=new");
    expect(shown).not.toContain("old");
  });

  test("that is long can be unfolded: on the terminal, in lists, by an editor and by an MCP client", async () => {
    const { asked, open } = await asking();
    const content = Array.from({ length: 200 }, (_, line) => `line ${line}`).join("\n");
    await (await open()).call({ name: "write", input: { path: ".envrc", content } });
    const [{ call, decision } = { call: {} as CheckedCall, decision: {} as Decision }] = asked;
    const question = questionOf(call, decision);
    expect(question.text).toContain("v (view all)");
    expect(question.text).not.toContain("+line 100\n");
    expect(question.whole).toContain("+line 100\n");
    const form = approvalForm(call, decision, "2025-11-25");
    expect(form.message).not.toContain("+line 100\n");
    const show = { action: "accept", content: { answer: "show" } };
    expect(wantsWhole(form, show)).toBe(true);
    const whole = approvalForm(call, decision, "2025-11-25", "whole");
    expect(whole.message).toContain("+line 100\n");
    expect(wantsWhole(whole, show)).toBe(false);
    expect(offeredBy(whole, approvalOf(show))).toMatchObject({ answer: "refuse" });
    const sent: RequestPermissionRequest[] = [];
    const client = {
      async request(_: string, params: RequestPermissionRequest) {
        sent.push(params);
        return { outcome: { outcome: "selected", optionId: params.options[1]?.optionId } };
      },
    };
    const how = { client, sessionId: "s", hasForms: false, signal: new AbortController().signal };
    expect(await askClient(call, decision, { content: [] } as never, how as never)).toEqual({ answer: "refuse" });
    expect(sent.map(({ options }) => options.map(({ optionId }) => optionId))).toEqual([
      ["once", "show", "refuse"],
      ["once", "refuse"],
    ]);
    expect(sent.map(({ toolCall }) => JSON.stringify(toolCall.content).includes("+line 100\\n"))).toEqual([
      false,
      true,
    ]);
    const { name } = call.tool;
    const recorded = { question: "q1", call: "c", thread: "t", name, input: call.input as Json, askedMs: 1 } as const;
    const listed = questionsText([{ ...recorded, effects: call.effects, decision }]);
    expect(listed).toContain("All of it: handrail approvals show q1");
    expect(listed).not.toContain("+line 100\n");
  });
});

test.each([
  ["awk -f x.awk", "x.awk"],
  ["sed -f x.sed notes", "x.sed"],
  ["bc x.bc", "x.bc"],
  ["jq -f x.jq notes", "x.jq"],
  ["gdb -x x.gdb", "x.gdb"],
  ["sqlite3 -init x.sql a.db", "x.sql"],
  ["perl x.pl", "x.pl"],
  ["curl -K x.curl", "x.curl"],
  ["wget -i x.urls", "x.urls"],
  ["xargs -a x.words echo", "x.words"],
  ["tar -T x.list -cf a.tar", "x.list"],
  ["rsync --files-from=x.list . out", "x.list"],
  ["git push", ".git/config"],
  ["git fetch origin", ".git/config"],
  ["bin/tool --version", "bin/tool"],
])("always is not offered outside the sandbox where a file decides what happens: %s", async (command, path) => {
  const { world, asked, open } = await asking("always");
  await chmod(await world.file(path, ""), 0o755);
  await (await open()).call({ name: "bash", input: { command, timeout: 5 } });
  await world.file(join(world.workDir, path), "changed\n");
  const before = asked.length;
  await (await open()).call({ name: "bash", input: { command, timeout: 5 } });
  expect(asked.length).toBe(before + 1);
  expect(asked.map(({ decision }) => longestGrant(decision))).not.toContain("always");
});

test("always covers a command outside the sandbox that no file decides, unless its program can be written", async () => {
  const { world, asked, open } = await asking("always");
  for (const _ of [1, 2]) await (await open()).call({ name: "bash", input: { command: "mkdir -p made" } });
  expect(asked.map(({ decision }) => longestGrant(decision))).toEqual(["always"]);
  await chmod(await world.file("mkdir", "#!/bin/sh\n"), 0o755);
  await (await open()).call({ name: "bash", input: { command: "PATH=.:$PATH mkdir -p made" } });
  expect(asked.map(({ decision }) => longestGrant(decision))).toEqual(["always", "session"]);
});
