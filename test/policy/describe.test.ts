import { describe, expect, test } from "vitest";
import type { CheckedCall } from "../../src/core/contract/call.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { describeCall } from "../../src/policy/describe.ts";
import { layout } from "../support/layout.ts";

const tool = defineTool({
  name: "doing",
  description: "Does it.",
  touches: [],
  input: {},
  effects: () => [],
  run: async () => null,
});

function described(...effects: readonly Effect[]): string {
  const call: CheckedCall = {
    request: { id: "1", name: "doing", input: {}, thread: "main" },
    tool,
    input: {},
    effects,
  };
  return describeCall(call);
}

describe("describeCall", () => {
  test.each<[Effect, string]>([
    [{ kind: "read", path: "/srv/a", real: "/srv/a" }, "Read: /srv/a"],
    [{ kind: "write", path: "a b" }, "Write: a b"],
    [{ kind: "write", path: "a", does: "edit" }, "Edit: a"],
    [{ kind: "write", path: "a", does: "replace" }, "Write: a"],
    [{ kind: "write", path: "a", does: "replace", isNew: true }, "New file: a"],
    [{ kind: "exec", command: "npm test" }, "Run: npm test"],
    [
      { kind: "exec", command: "npm test", cwd: "packages/a", env: { CI: "1", LD_PRELOAD: "x.so" } },
      "Run: npm test (in packages/a) (with CI=1 LD_PRELOAD=x.so)",
    ],
    [
      {
        kind: "exec",
        command: "npm ci",
        within: { network: ["a.org", "b.org"], write: ["~/.cache"], read: ["~/.npmrc"] },
      },
      "Run: npm ci (reaching a.org, b.org; writing ~/.cache; reading ~/.npmrc)",
    ],
    [
      { kind: "exec", command: "id", lifetime: "toolkit", within: "none" },
      "Run in the background, outside the sandbox: id",
    ],
    [{ kind: "terminal", types: "ls", keys: ["Enter"] }, "Type: ls [Enter]"],
    [{ kind: "terminal", types: "ls Enter" }, "Type: ls Enter (without Enter)"],
    [{ kind: "terminal", types: "a\nb\n", pane: "%3" }, "Type into pane %3: a\nb\n"],
    [{ kind: "terminal", keys: ["C-c"], pane: "main:1" }, "Type into pane main:1: [C-c]"],
    [{ kind: "terminal", types: "yes", job: "2" }, "Type to job 2: yes"],
    [{ kind: "terminal", job: "2" }, "Manage job 2"],
    [{ kind: "terminal" }, "Look at the terminal"],
    [{ kind: "terminal", pane: "%3" }, "Look at pane %3"],
    [{ kind: "request", url: "https://example.org/", method: "POST" }, "POST: https://example.org/"],
    [{ kind: "output", id: "abc" }, "Read: output://abc"],
    [{ kind: "state", store: "memory", change: true }, "Change: memory"],
    [{ kind: "state", store: "schedule", change: false }, "Read: schedule"],
    [{ kind: "delegate", agent: "reviewer" }, "Delegate to: reviewer"],
    [{ kind: "delegate", agent: "reviewer", task: "Look at a.ts" }, "Delegate to: reviewer: Look at a.ts"],
    [{ kind: "foreign", from: "plugin:weather" }, "Call: a tool of plugin:weather"],
    [
      { kind: "foreign", from: "plugin:weather", tool: "get_weather", input: '{"city":"Oslo"}' },
      'Call: get_weather of plugin:weather with {"city":"Oslo"}',
    ],
  ])("says %j in words", (effect, words) => {
    expect(described(effect)).toBe(words);
  });

  test("one line per effect; what is read in order to be written is one thing", () => {
    expect(described({ kind: "read", path: "a" }, { kind: "write", path: "a" }, { kind: "read", path: "b" })).toBe(
      "Write: a\nRead: b",
    );
    expect(described()).toBe("Call: doing");
  });

  test("the target of a link is shown, also if it has the same name", async () => {
    expect(described({ kind: "write", path: "passwd", real: "/etc/passwd" })).toBe("Write: passwd (/etc/passwd)");
    const world = await layout();
    await world.link("secret.txt", `${world.outside}/secret.txt`);
    let question = "";
    const toolkit = await world.toolkit({
      policy: { workspaceOnly: false, forbiddenPaths: [] },
      approver: async (call) => {
        question = describeCall(call);
        return { answer: "refuse" };
      },
    });
    await toolkit.call({ name: "read", input: { path: "secret.txt" } });
    expect(question).toBe(`Read: secret.txt (${world.outside}/secret.txt)`);
  });
});
