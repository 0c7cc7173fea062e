import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import type { CheckedCall } from "../../../src/core/contract/call.ts";
import type { Decision } from "../../../src/core/contract/decision.ts";
import type { Effect } from "../../../src/core/contract/effect.ts";
import type { Approver, Policy } from "../../../src/core/contract/policy.ts";
import { type Tool, defineTool } from "../../../src/core/contract/tool.ts";
import { decide } from "../../../src/core/call/decide.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { layout } from "../../support/layout.ts";
import { temporaryFolder, toolkitWith, workspace } from "../../support/workspace.ts";

/** A tool with whatever effects its input names; it counts its runs and touches nothing. */
function touching(): { tool: Tool; runs: unknown[] } {
  const runs: unknown[] = [];
  const tool = defineTool({
    name: "touching",
    description: "Has the effects that it is told.",
    touches: ["read", "write", "exec", "terminal", "fetch", "output", "state", "delegate", "foreign"],
    input: Type.Object({ effects: Type.Array(Type.Unknown()), approved: Type.Optional(Type.Boolean()) }),
    effects: ({ effects }) => effects as readonly Effect[],
    run: async ({ effects }) => {
      runs.push(effects);
      return null;
    },
  });
  return { tool, runs };
}

/** A person who gives these answers in order, and records the questions. */
function person(...answers: readonly unknown[]): { approver: Approver; asked: CheckedCall[]; decisions: Decision[] } {
  const asked: CheckedCall[] = [];
  const decisions: Decision[] = [];
  const left = [...answers];
  const approver: Approver = async (call, decision) => {
    asked.push(call);
    decisions.push(decision);
    if (left.length === 0) throw new Error("asked once too often");
    return left.shift() as never;
  };
  return { approver, asked, decisions };
}

async function coding(options: ToolkitOptions = {}) {
  const workDir = await workspace({ "sub/x": "" });
  return {
    workDir,
    toolkit: await toolkitWith({ preset: "coding", workDir, policy: { shellConfirm: true }, ...options }),
  };
}

/** A workspace without programs: those of this checkout are started by other tests. */
const empty = temporaryFolder();

const once = { answer: "once" } as const;
const session = { answer: "session" } as const;
const refuse = { answer: "refuse" } as const;

describe("a person's answer", () => {
  test("what the policy allows is never asked about", async () => {
    const { approver, asked } = person();
    const { toolkit } = await coding({ approver });
    expect(await toolkit.call({ name: "write", input: { path: "a.txt", content: "x" } })).toMatchObject({
      status: "ok",
    });
    expect(asked).toEqual([]);
  });

  test("what the policy denies is never asked about", async () => {
    const { approver, asked } = person();
    const { toolkit } = await coding({ approver });
    const result = await toolkit.call({ name: "read", input: { path: "/etc/hostname" } });
    expect(result).toMatchObject({ status: "denied", by: "policy" });
    expect(asked).toEqual([]);
  });

  test(`"once" is for this call only, and the question has the command, the folder and the decision`, async () => {
    const { approver, asked, decisions } = person(once, refuse);
    const { toolkit, workDir } = await coding({ approver });
    expect(asText(await toolkit.call({ name: "bash", input: { command: "echo hi" } }))).toBe("hi\n");
    expect(await toolkit.call({ name: "bash", input: { command: "echo hi" } })).toMatchObject({
      status: "denied",
      by: "person",
    });
    expect(asked.map(({ effects }) => effects)).toEqual(
      Array.from({ length: 2 }, () => [{ kind: "exec", command: "echo hi", real: workDir }]),
    );
    expect(decisions[0]).toMatchObject({ verdict: "ask", risk: "low" });
  });

  test("a refused command is named as a command; other refusals name the tool; reasons are passed on", async () => {
    const { approver } = person(
      refuse,
      { answer: "refuse", reason: "Use npm ci." },
      { answer: "refuse", reason: "" },
      refuse,
    );
    const { toolkit } = await coding({ approver });
    const run = async () => asText(await toolkit.call({ name: "bash", input: { command: "npm i" } }));
    expect(await run()).toBe("Command execution denied by user.");
    expect(await run()).toBe("Command execution denied by user. Use npm ci.");
    expect(await run()).toBe("Command execution denied by user.");
    expect(asText(await toolkit.call({ name: "write", input: { path: ".git/config", content: "" } }))).toBe(
      "Call of write denied by user.",
    );
  });

  test("a refused call does not run", async () => {
    const { approver } = person(refuse);
    const { toolkit, workDir } = await coding({ approver });
    await toolkit.call({ name: "bash", input: { command: "touch made" } });
    await expect(readFile(join(workDir, "made"))).rejects.toThrow("ENOENT");
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("dialog crashed");
      },
    ],
    ["rejects", () => Promise.reject(new Error("dialog crashed"))],
  ])("an approver that %s refuses, and says why", async (_, approver) => {
    const { toolkit } = await coding({ approver });
    const result = await toolkit.call({ name: "bash", input: { command: "true" } });
    expect(result).toMatchObject({ status: "denied", by: "person" });
    expect(asText(result)).toBe("Command execution denied by user. Asking for approval failed: dialog crashed");
  });

  test.each([
    undefined,
    null,
    true,
    "yes",
    "once",
    {},
    { answer: "yes" },
    { answer: "deny" },
    { answer: "ALWAYS" },
    { answer: true },
    { approved: true },
    ["once"],
  ])("an answer that is none (%j) refuses", async (answer) => {
    const { tool, runs } = touching();
    const toolkit = await toolkitWith({ workDir: empty, tools: [tool], approver: person(answer).approver });
    expect(
      await toolkit.call({ name: "touching", input: { effects: [{ kind: "delegate", agent: "x" }] } }),
    ).toMatchObject({ status: "denied", by: "person" });
    expect(runs).toEqual([]);
  });

  test("only the first of two answers counts", async () => {
    const { tool, runs } = touching();
    for (const [first, second, ran] of [
      [refuse, once, 0],
      [once, refuse, 1],
    ] as const) {
      const approver: Approver = () =>
        new Promise((resolve) => {
          resolve(first);
          resolve(second); // oxlint-disable-line promise/no-multiple-resolved -- this is what is tested
        });
      runs.length = 0;
      const toolkit = await toolkitWith({ workDir: empty, tools: [tool], approver });
      await toolkit.call({ name: "touching", input: { effects: [{ kind: "delegate", agent: "x" }] } });
      expect(runs.length).toBe(ran);
    }
  });

  test("a call is stopped while nobody answers, and a later answer starts nothing", async () => {
    const { tool, runs } = touching();
    let answer: (approval: typeof session) => void = () => {};
    let asking: AbortSignal | undefined;
    const store = memoryStore();
    const toolkit = await toolkitWith({
      workDir: empty,
      tools: [tool],
      store,
      approver: (_call, _decision, signal) => {
        asking = signal;
        return new Promise((resolve) => (answer = resolve));
      },
    });
    const controller = new AbortController();
    const input = { effects: [{ kind: "delegate", agent: "x" }] };
    const call = toolkit.call({ name: "touching", input }, { signal: controller.signal });
    await expect.poll(() => asking).toBeDefined();
    expect(asking?.aborted).toBe(false);
    controller.abort();
    expect(await call).toMatchObject({ status: "aborted" });
    expect(asking?.aborted).toBe(true); // so that the question can be removed
    answer(session);
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).toEqual([]);
    const again = new AbortController();
    const second = toolkit.call({ name: "touching", input }, { signal: again.signal });
    await expect.poll(() => asking?.aborted).toBe(false); // the late "session" granted nothing
    again.abort();
    expect(await second).toMatchObject({ status: "aborted" });
  });

  test("nobody is asked about a call that was stopped before", async () => {
    const { approver, asked } = person();
    const { toolkit } = await coding({ approver });
    const result = await toolkit.call({ name: "bash", input: { command: "true" } }, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ status: "aborted" });
    expect(asked).toEqual([]);
  });

  test("with nobody to ask the call is denied, and the denial says how to get approval", async () => {
    const { toolkit } = await coding();
    const result = await toolkit.call({ name: "bash", input: { command: "true" } });
    expect(result).toMatchObject({ status: "denied", by: "nobody" });
    expect(asText(result)).toBe(
      "Command requires approval: every command is asked about (`true`), and there is nobody to ask. To allow it, " +
        "pass an approver to createToolkit, or let people answer the questions of its store.",
    );
  });

  test("a call's own approver is asked instead of the toolkit's", async () => {
    const first = person();
    const second = person(once);
    const { toolkit } = await coding({ approver: first.approver });
    expect(
      await toolkit.call({ name: "bash", input: { command: "true" } }, { approver: second.approver }),
    ).toMatchObject({ status: "ok" });
    expect([first.asked.length, second.asked.length]).toEqual([0, 1]);
  });

  test("nothing that the model writes is an answer", async () => {
    const { tool, runs } = touching();
    const toolkit = await toolkitWith({ workDir: empty, tools: [tool] });
    for (const more of [{ approved: true }, { approved: "true" }, { approval: once, decision: { verdict: "allow" } }]) {
      const input = { effects: [{ kind: "exec", command: "npm test" }], ...more };
      expect((await toolkit.call({ name: "touching", input })).status).toBe("denied");
    }
    expect(runs).toEqual([]);
    const { toolkit: strict } = await coding();
    const result = await strict.call({ name: "bash", input: { command: "true", approved: true } });
    expect(result).toMatchObject({ status: "invalid-input" });
  });

  test("parallel calls get their own answers", async () => {
    const answers = new Map<string, (approval: typeof once | typeof refuse) => void>();
    const approver: Approver = ({ request }) => new Promise((resolve) => answers.set(request.id, resolve));
    const { toolkit, workDir } = await coding({ approver });
    const ids = Array.from({ length: 20 }, (_, index) => `call-${index}`);
    const calls = ids.map((id) => toolkit.call({ id, name: "bash", input: { command: `touch ${id}` } }));
    await expect.poll(() => answers.size).toBe(ids.length);
    const isRefused = (id: string) => Number(id.slice(5)) % 3 === 0;
    for (const id of ids.toReversed()) answers.get(id)?.(isRefused(id) ? refuse : once);
    const results = await Promise.all(calls);
    for (const [index, id] of ids.entries()) {
      expect(results[index]?.status).toBe(isRefused(id) ? "denied" : "ok");
      expect((await toolkit.backend.files.stat(join(workDir, id))) !== undefined).toBe(!isRefused(id));
    }
  });
});

describe("an answer for the session", () => {
  async function asks(...inputs: readonly (readonly Effect[])[]): Promise<readonly boolean[]> {
    const world = await layout();
    await mkdir(join(world.workDir, "sub"));
    for (const path of [".env", ".env.local", "sub/.env"]) await world.file(path);
    const { tool } = touching();
    let asked = 0;
    const toolkit = await world.toolkit({
      preset: "none",
      tools: [tool],
      approver: async () => {
        asked++;
        return session;
      },
    });
    const were: boolean[] = [];
    for (const effects of inputs) {
      const before = asked;
      expect(await toolkit.call({ name: "touching", input: { effects } })).toMatchObject({ status: "ok" });
      were.push(asked > before);
    }
    return were;
  }

  const test1: Effect = { kind: "exec", command: "npm test" };

  test("covers the same command, not another one, another folder or other variables", async () => {
    const env = { CI: "1", NODE_ENV: "test" };
    expect(
      await asks(
        [test1],
        [test1],
        [{ ...test1, command: "npm test --watch" }],
        [{ ...test1, command: "npm test && rm -rf tmp" }],
        [{ ...test1, cwd: "sub" }],
        [{ ...test1, cwd: "sub" }],
        [{ ...test1, env }],
        [{ kind: "exec", env: { NODE_ENV: "test", CI: "1" }, command: "npm test" }],
        [{ ...test1, env: { ...env, CI: "0" } }],
        [{ ...test1, env: { CI: "1" } }],
        [{ ...test1, env: {} }],
      ),
    ).toEqual([true, false, true, true, true, false, true, false, true, true, false]);
  });

  test("covers the same file, not another one, another use of it, or a new target of a link", async () => {
    expect(
      await asks(
        [{ kind: "read", path: ".env" }],
        [{ kind: "read", path: ".env" }],
        [{ kind: "write", path: ".env" }],
        [{ kind: "read", path: ".env.local" }],
        [{ kind: "read", path: "sub/.env" }],
      ),
    ).toEqual([true, false, true, true, true]);
  });

  test("does not cover a link whose target has changed", async () => {
    const world = await layout();
    const { tool } = touching();
    const { approver, asked } = person(session, session);
    const toolkit = await world.toolkit({
      preset: "none",
      tools: [tool],
      approver,
      policy: { workspaceOnly: false, forbiddenPaths: [] },
    });
    await world.file(join(world.root, "one/x"));
    await world.file(join(world.root, "two/x"));
    const input = { effects: [{ kind: "read", path: "link/x" }] };
    await world.link("link", join(world.root, "one"));
    await toolkit.call({ name: "touching", input });
    await toolkit.call({ name: "touching", input });
    expect(asked.length).toBe(1);
    await toolkit.backend.files.remove("link");
    await world.link("link", join(world.root, "two"));
    await toolkit.call({ name: "touching", input });
    expect(asked.length).toBe(2);
  });

  test("covers a call only when it covers each of its effects", async () => {
    const other: Effect = { kind: "delegate", agent: "reviewer" };
    expect(
      await asks([test1], [test1, other], [other], [other, test1], [other, test1, { kind: "foreign", from: "x" }]),
    ).toEqual([true, true, false, false, true]);
  });

  test("never covers what the policy denies", async () => {
    const { tool, runs } = touching();
    let verdict: Decision["verdict"] = "ask";
    const policies: readonly Policy[] = [async () => ({ verdict, risk: "low", reason: "as told" })];
    const toolkit = await toolkitWith({ workDir: empty, tools: [tool], policies, approver: person(session).approver });
    const input = { effects: [{ kind: "delegate", agent: "x" }] };
    expect(await toolkit.call({ name: "touching", input })).toMatchObject({ status: "ok" });
    verdict = "deny";
    expect(await toolkit.call({ name: "touching", input })).toMatchObject({
      status: "denied",
      reason: "as told",
      by: "policy",
    });
    expect(runs.length).toBe(1);
  });

  test("ends with the toolkit", async () => {
    const { tool } = touching();
    const { approver, asked } = person(session, session);
    for (let index = 0; index < 2; index++) {
      const toolkit = await toolkitWith({ workDir: empty, tools: [tool], approver });
      await toolkit.call({ name: "touching", input: { effects: [{ kind: "delegate", agent: "x" }] } });
    }
    expect(asked.length).toBe(2);
  });

  test("given while the same question is open for another call, does not answer that one", async () => {
    const { tool, runs } = touching();
    const open: ((approval: typeof session | typeof refuse) => void)[] = [];
    const toolkit = await toolkitWith({
      workDir: empty,
      tools: [tool],
      approver: () => new Promise((resolve) => open.push(resolve)),
    });
    const input = { effects: [{ kind: "delegate", agent: "x" }] };
    const calls = [toolkit.call({ name: "touching", input }), toolkit.call({ name: "touching", input })];
    await expect.poll(() => open.length).toBe(2);
    open[0]?.(session);
    open[1]?.(refuse);
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(["ok", "denied"]);
    expect(runs.length).toBe(1);
  });
});

describe("several policies", () => {
  const deny: Policy = async () => ({ verdict: "deny", risk: "high", reason: "mine forbids it" });
  const ask: Policy = async () => ({ verdict: "ask", risk: "medium", reason: "mine asks" });
  const allow: Policy = async () => ({ verdict: "allow", risk: "low" });
  const abstain: Policy = async () => undefined;

  const READ: readonly Effect[] = [{ kind: "read", path: "a" }];
  const FORBIDDEN: readonly Effect[] = [{ kind: "read", path: "/etc/hostname" }];
  const EXEC: readonly Effect[] = [{ kind: "exec", command: "npm test" }];

  test.each<[string, readonly Policy[], readonly Effect[], Decision["verdict"]]>([
    ["one of mine denies what the standard one allows", [allow, deny, ask], READ, "deny"],
    ["one of mine asks about what the standard one allows", [abstain, ask], READ, "ask"],
    ["mine cannot allow what the standard one denies", [allow], FORBIDDEN, "deny"],
    ["mine cannot allow what the standard one asks about", [allow], EXEC, "ask"],
    ["one that abstains changes nothing", [abstain], READ, "allow"],
    ["one of mine denies what touches nothing", [deny], [], "deny"],
  ])("%s", async (_, policies, effects, verdict) => {
    const toolkit = await toolkitWith({ workDir: empty, preset: "none", policies });
    expect((await toolkit.judge(effects)).verdict).toBe(verdict);
  });

  test.each<[string, Policy, string]>([
    [
      "throws",
      () => {
        throw new Error("rules file is broken");
      },
      "rules file is broken",
    ],
    ["rejects", () => Promise.reject(new Error("rules file is broken")), "rules file is broken"],
    ["answers a word that is no verdict", async () => ({ verdict: "block", risk: "low" }) as never, '"block"'],
    ["answers no decision", async () => true as never, "true"],
  ])("a policy that %s denies, and says why", async (_, policy, why) => {
    const { tool, runs } = touching();
    const toolkit = await toolkitWith({
      workDir: empty,
      tools: [tool],
      policies: [allow, policy],
      policy: { autonomy: "full" },
    });
    const result = await toolkit.call({ name: "touching", input: { effects: READ } });
    expect(result).toMatchObject({ status: "denied", by: "policy" });
    expect(asText(result)).toContain("The policy could not judge this call: ");
    expect(asText(result)).toContain(why);
    expect(runs).toEqual([]);
  });

  test("a policy gets the real paths, once per call", async () => {
    const world = await layout();
    await world.file("real.txt");
    await world.link("link", "real.txt");
    const judged: (readonly Effect[])[] = [];
    const { tool } = touching();
    const policy: Policy = async ({ effects }) => void judged.push(effects);
    const toolkit = await world.toolkit({ preset: "none", tools: [tool], policies: [policy] });
    await toolkit.call({ name: "touching", input: { effects: [{ kind: "read", path: "link" }] } });
    expect(judged).toEqual([[{ kind: "read", path: "link", real: join(world.workDir, "real.txt") }]]);
  });

  test("a call is stopped while a policy does not answer", async () => {
    const { tool, runs } = touching();
    let judging = false;
    const never: Policy = () => {
      judging = true;
      return new Promise(() => {});
    };
    const toolkit = await toolkitWith({ workDir: empty, tools: [tool], policies: [never] });
    const controller = new AbortController();
    const call = toolkit.call({ name: "touching", input: { effects: READ } }, { signal: controller.signal });
    await expect.poll(() => judging).toBe(true);
    controller.abort();
    expect(await call).toMatchObject({ status: "aborted" });
    expect(runs).toEqual([]);
  });

  test("when all policies abstain, a call without effects is allowed and any other is asked about", async () => {
    const world = await layout();
    const { backend, store } = await world.toolkit();
    const { tool } = touching();
    const call = (effects: readonly Effect[]): CheckedCall => ({
      request: { id: "1", name: "touching", input: {}, thread: "main" },
      tool,
      input: {},
      effects,
    });
    for (const policies of [[], [abstain]]) {
      expect((await decide(call([]), { policies, backend, store })).decision).toEqual({
        verdict: "allow",
        risk: "low",
        rule: "no_effect",
      });
      for (const effects of [READ, FORBIDDEN, EXEC, [{ kind: "output", id: "x" }] as const]) {
        expect((await decide(call(effects), { policies, backend, store })).decision).toMatchObject({
          verdict: "ask",
          rule: "default",
        });
      }
    }
  });
});

test("many parallel calls cause no warning about listeners", async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error) => void warnings.push(warning);
  process.on("warning", listen);
  try {
    const { tool } = touching();
    const toolkit = await toolkitWith({ workDir: empty, tools: [tool], approver: async () => once });
    const input = { effects: [{ kind: "delegate", agent: "x" }] };
    await Promise.all(Array.from({ length: 50 }, () => toolkit.call({ name: "touching", input })));
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  } finally {
    process.off("warning", listen);
  }
});

describe("a call that is not judged or answered yet", () => {
  test("does not delay others", async () => {
    let decideSlow: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (decideSlow = resolve));
    const judged: string[] = [];
    const slowPolicy: Policy = async ({ effects }) => {
      const isSlow = effects.some((effect) => effect.kind === "exec" && effect.command.includes("slow"));
      if (isSlow) {
        judged.push("slow");
        await slow;
      }
      return undefined;
    };
    const asked: string[] = [];
    const silent: Approver = ({ request }) => {
      asked.push(request.id);
      return new Promise(() => undefined);
    };
    const nested = defineTool({
      name: "nested",
      description: "Calls bash.",
      touches: [],
      effects: () => [],
      input: Type.Object({ command: Type.String() }),
      run: async ({ command }, context) => (await context.call("bash", { command })).status,
    });
    const toolkit = await toolkitWith({
      preset: "all",
      tools: [nested],
      workDir: await workspace({ "a.txt": "alpha\n" }),
      policy: { maxActionsPerHour: 100 },
      policies: [slowPolicy],
      approver: silent,
    });
    const call = (name: string, input: object, id = name) => toolkit.call({ id, name, input });
    const waiting = [
      call("bash", { command: "echo slow" }, "slow"),
      call("nested", { command: "echo slow" }, "slow inside"),
      call("bash", { command: "touch asked" }, "asked"),
      call("nested", { command: "touch asked" }, "asked inside"),
      call("write", { path: "../outside", content: "x" }, "denied"),
    ];
    await expect.poll(() => [judged.length, asked.length]).toEqual([2, 2]);
    const others = await Promise.all([
      call("bash", { command: "echo quick" }),
      call("nested", { command: "echo quick" }),
      call("read", { path: "a.txt" }),
      call("write", { path: "b.txt", content: "beta\n" }),
      call("edit", { path: "a.txt", old_text: "alpha", new_text: "gamma" }),
      call("grep", { pattern: "alpha|gamma" }),
      call("time", {}),
    ]);
    expect(others.filter(({ status }) => status !== "ok")).toEqual([]);
    decideSlow();
    expect((await Promise.all(waiting.slice(0, 2))).map(({ status }) => status)).toEqual(["ok", "ok"]);
    await toolkit.close();
    expect((await Promise.all(waiting.slice(2))).map(({ status }) => status)).toEqual(["aborted", "ok", "denied"]);
  });
});
