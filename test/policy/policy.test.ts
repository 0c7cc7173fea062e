import { describe, expect, test } from "vitest";
import { Type } from "typebox";
import type { Effect } from "../../src/core/contract/effect.ts";
import type { Autonomy } from "../../src/core/contract/policy.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asText } from "../../src/core/call/result.ts";
import { layout } from "../support/layout.ts";

const EXEC: Effect = { kind: "exec", command: "npm test" };

async function judged(autonomy: Autonomy, ...effects: readonly Effect[]) {
  const world = await layout();
  const toolkit = await world.toolkit({ policy: { autonomy } });
  return toolkit.judge(effects);
}

describe("readonly", () => {
  test.each<[Effect, string]>([
    [{ kind: "write", path: "a" }, "write files"],
    [EXEC, "run a command"],
    [{ kind: "terminal", types: "ls" }, "type into a terminal"],
    [{ kind: "terminal", keys: ["C-c"] }, "type into a terminal"],
    [{ kind: "request", url: "https://example.org/", method: "POST" }, "POST a URL"],
    [{ kind: "state", store: "memory", change: true }, "change memory"],
    [{ kind: "state", store: "schedule", change: true }, "change schedule"],
    [{ kind: "delegate", agent: "reviewer" }, "delegate"],
    [{ kind: "foreign", from: "plugin:weather" }, "call a tool of plugin:weather"],
  ])("refuses %j and says what was tried", async (effect, verb) => {
    expect(await judged("readonly", effect)).toEqual({
      verdict: "deny",
      risk: "medium",
      rule: "autonomy",
      reason: `Read-only mode: cannot perform '${verb}'`,
    });
  });

  test("allows looking: reads, saved outputs, a terminal's screen, memories", async () => {
    for (const effect of [
      { kind: "read", path: "a" },
      { kind: "output", id: "x" },
      { kind: "terminal" },
      { kind: "state", store: "memory", change: false },
    ] as const) {
      expect(await judged("readonly", effect)).toMatchObject({ verdict: "allow" });
    }
  });

  test("a call that looks and acts is refused as a whole, and the model gets the reason", async () => {
    const world = await layout();
    await world.file("a.txt", "one\n");
    const toolkit = await world.toolkit({
      policy: { autonomy: "readonly" },
      approver: async () => ({ answer: "session" }),
    });
    const edit = await toolkit.call({ name: "edit", input: { path: "a.txt", old_text: "one", new_text: "two" } });
    expect(edit).toMatchObject({ status: "denied", by: "policy" });
    expect(asText(edit)).toBe("Read-only mode: cannot perform 'write files'");
    expect(asText(await toolkit.call({ name: "write", input: { path: "b.txt", content: "x" } }))).toBe(
      "Read-only mode: cannot perform 'write files'",
    );
    expect(asText(await toolkit.call({ name: "bash", input: { command: "touch c.txt" } }))).toBe(
      "Read-only mode: cannot perform 'run a command'",
    );
    expect(await toolkit.call({ name: "read", input: { path: "a.txt" } })).toMatchObject({
      status: "ok",
      data: { text: "one\n" },
    });
  });
});

describe("supervised and full", () => {
  const acts: readonly Effect[] = [
    { kind: "terminal", types: "ls" },
    { kind: "request", url: "https://example.org/", method: "POST" },
    { kind: "delegate", agent: "reviewer" },
    { kind: "foreign", from: "plugin" },
  ];

  test("supervised asks about everything that reaches beyond the workspace's files; full does not", async () => {
    for (const effect of acts) {
      expect(await judged("supervised", effect)).toMatchObject({
        verdict: "ask",
        risk: "medium",
        rule: effect.kind === "terminal" ? "typing" : "autonomy",
        reason: expect.stringContaining("requires approval"),
      });
      expect(await judged("full", effect)).toMatchObject({ verdict: "allow", rule: "autonomy" });
    }
  });

  test("supervised asks about a command by its risk, and runs one that only looks; full asks about neither", async () => {
    const looks: Effect = { kind: "exec", command: "ls" };
    expect(await judged("supervised", EXEC)).toMatchObject({
      verdict: "ask",
      risk: "medium",
      rule: "require_approval_for_medium_risk",
      reason: expect.stringMatching(/^Medium-risk command requires approval: `npm test` /),
    });
    expect(await judged("supervised", looks)).toMatchObject({ verdict: "allow", risk: "low", rule: "plain" });
    expect(await judged("full", looks)).toMatchObject({ verdict: "allow", rule: "plain" });
    expect(await judged("full", EXEC)).toMatchObject({ verdict: "allow", rule: "autonomy" });
  });

  test("supervised is the default", async () => {
    const toolkit = await (await layout()).toolkit();
    expect(await toolkit.judge([EXEC])).toMatchObject({ verdict: "ask" });
  });

  test("a command runs only if the path rules allow it, in full autonomy too", async () => {
    const world = await layout();
    await world.link("way-out", world.outside);
    const toolkit = await world.toolkit({ policy: { autonomy: "full", forbiddenPaths: ["secret"] } });
    for (const cwd of [world.outside, "..", "way-out", "~", "/etc", "secret", "secret/deeper"]) {
      expect(await toolkit.judge([{ ...EXEC, cwd }])).toMatchObject({ verdict: "deny" });
    }
    for (const cwd of [".", "packages/a", world.workDir]) {
      expect(await toolkit.judge([{ ...EXEC, cwd }])).toMatchObject({ verdict: "allow" });
    }
  });

  test("of several effects the strictest decides, in any position", async () => {
    const read: Effect = { kind: "read", path: "a" };
    const forbidden: Effect = { kind: "read", path: "/etc/passwd" };
    expect(await judged("supervised", read, EXEC)).toMatchObject({ verdict: "ask" });
    expect(await judged("supervised", EXEC, read)).toMatchObject({ verdict: "ask" });
    expect(await judged("supervised", EXEC, forbidden, read)).toMatchObject({ verdict: "deny" });
    expect(await judged("full", forbidden, EXEC)).toMatchObject({ verdict: "deny" });
    expect(await judged("full", read, { kind: "write", path: ".env" })).toMatchObject({ verdict: "ask" });
  });

  test("a call without effects needs no decision", async () => {
    expect(await judged("readonly")).toEqual({ verdict: "allow", risk: "low", rule: "no_effect" });
  });

  test("a tool's own claim about the target of its path is ignored", async () => {
    const world = await layout();
    await world.link("loop", "loop");
    const toolkit = await world.toolkit({ policy: { autonomy: "full" } });
    expect(await toolkit.judge([{ kind: "read", path: "/etc/passwd", real: `${world.workDir}/a` }])).toMatchObject({
      verdict: "deny",
    });
    expect(await toolkit.judge([{ kind: "read", path: "loop", real: `${world.workDir}/a` }])).toMatchObject({
      verdict: "deny",
    });
    expect(await toolkit.judge([{ kind: "exec", command: "ls", cwd: "loop", real: world.workDir }])).toMatchObject({
      verdict: "deny",
    });
  });

  test("a forbidden path inside a searched folder stays hidden", async () => {
    const world = await layout();
    await world.file("private/key.txt", "NEEDLE in private\n");
    await world.file("a.txt", "NEEDLE in a\n");
    const toolkit = await world.toolkit({ preset: "all", policy: { forbiddenPaths: ["private"] } });
    const found = asText(await toolkit.call({ name: "grep", input: { pattern: "NEEDLE" } }));
    expect(found).toContain("NEEDLE in a");
    expect(found).not.toContain("NEEDLE in private");
  });

  test("a refused call leaves nothing behind", async () => {
    const world = await layout();
    let ran = false;
    const writer = defineTool({
      name: "writer",
      description: "Writes where it is told.",
      touches: ["write"],
      input: Type.Object({ path: Type.String() }),
      effects: ({ path }) => [{ kind: "write", path }],
      run: async ({ path }, { backend }) => {
        ran = true;
        await backend.files.write(path, Buffer.from("x"));
        return null;
      },
    });
    const toolkit = await world.toolkit({
      preset: "none",
      tools: [writer],
      policy: { autonomy: "full" },
      approver: async () => ({ answer: "session" }),
    });
    const path = `${world.outside}/new/file.txt`;
    expect(await toolkit.call({ name: "writer", input: { path } })).toMatchObject({ status: "denied", by: "policy" });
    expect(ran).toBe(false);
    expect(await toolkit.backend.files.stat(`${world.outside}/new`)).toBeUndefined();
  });
});
