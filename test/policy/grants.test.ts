import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { Approval, Decision } from "../../src/core/contract/decision.ts";
import type { Effect } from "../../src/core/contract/effect.ts";
import { defineTool } from "../../src/core/contract/tool.ts";
import { asText } from "../../src/core/call/result.ts";
import { keptGrants } from "../../src/policy/kept-grants.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { type Layout, layout } from "../support/layout.ts";
import { until as waitUntil } from "../support/until.ts";

const ALWAYS: Approval = { answer: "always" };
const MAKE_FOLDER: readonly Effect[] = [{ kind: "exec", command: "mkdir pushed" }];

/** A tool with the effects that its input names. It counts its runs, and calls itself for `inner`. */
function touching() {
  const runs: unknown[] = [];
  const tool = defineTool({
    name: "touching",
    description: "Has the effects that it is told.",
    touches: ["read", "write", "exec", "terminal", "fetch", "output", "state", "delegate", "foreign"],
    input: Type.Object({ effects: Type.Array(Type.Unknown()), inner: Type.Optional(Type.Array(Type.Unknown())) }),
    effects: ({ effects }) => effects as readonly Effect[],
    async run({ effects, inner }, context) {
      runs.push(effects);
      return inner === undefined ? null : (await context.call("touching", { effects: inner })).status;
    },
  });
  return { tool, runs };
}

/** A toolkit of a world, whose person gives the same answer to everything and records the questions. */
async function answering(world: Layout, approval: Approval, options: ToolkitOptions = {}) {
  const asked: Decision[] = [];
  const { tool, runs } = touching();
  const toolkit = await world.toolkit({
    preset: "none",
    tools: [tool],
    approver: async (_, decision) => {
      asked.push(decision);
      return approval;
    },
    ...options,
  });
  const call = (effects: readonly Effect[], more: object = {}) =>
    toolkit.call({ name: "touching", input: { effects, ...more } });
  return { asked, runs, call, toolkit };
}

describe("always", () => {
  test("applies to another toolkit of this workspace, and not to another workspace", async () => {
    const world = await layout();
    const first = await answering(world, ALWAYS);
    expect(await first.call(MAKE_FOLDER)).toMatchObject({ status: "ok" });
    await first.toolkit.close();
    const second = await answering(world, { answer: "refuse" });
    expect(await second.call(MAKE_FOLDER)).toMatchObject({ status: "ok" });
    expect(second.asked).toEqual([]);
    await world.folder(join(world.root, "srv/other"));
    const elsewhere = await answering(world, { answer: "refuse" }, { workDir: join(world.root, "srv/other") });
    expect(await elsewhere.call(MAKE_FOLDER)).toMatchObject({ status: "denied", by: "person" });
  });

  test("is bound to the exact script, folder, environment and background mode", async () => {
    const world = await layout();
    await world.folder("sub");
    await (await answering(world, ALWAYS)).call(MAKE_FOLDER);
    const { call } = await answering(world, { answer: "refuse" });
    const exec = { kind: "exec", command: "mkdir pushed" } as const;
    for (const effect of [
      { ...exec, command: "mkdir pushed --all" },
      { ...exec, cwd: "sub" },
      { ...exec, env: { CI: "1" } },
      { ...exec, lifetime: "toolkit" },
      { ...exec, lifetime: "detached" },
    ] as const) {
      expect([effect, (await call([effect])).status]).toEqual([effect, "denied"]);
    }
    expect((await call([exec])).status).toBe("ok");
  });

  test("of a list of commands grants each as it was shown, and no other", async () => {
    const world = await layout();
    const { asked, call } = await answering(world, ALWAYS);
    await call([{ kind: "exec", command: "mkdir pushed && mkdir a" }]);
    expect(asked[0]?.scopes?.map(({ label }) => label)).toEqual(["mkdir pushed", "mkdir a"]);
    const later = await answering(world, { answer: "refuse" });
    expect((await later.call(MAKE_FOLDER)).status).toBe("ok");
    expect((await later.call([{ kind: "exec", command: "mkdir pushed && mkdir b" }])).status).toBe("denied");
    expect(later.asked[0]?.scopes?.map(({ label }) => label)).toEqual(["mkdir b"]);
  });

  test("ends at its expiry", async () => {
    const world = await layout();
    const soon = Date.now() + 400;
    const { asked, call } = await answering(world, { answer: "always", until: soon });
    await call(MAKE_FOLDER);
    await waitUntil("it has expired", () => Date.now() > soon);
    await call(MAKE_FOLDER);
    expect(asked).toHaveLength(2);
    const session = await answering(world, { answer: "session", until: Date.now() - 1 });
    await session.call(MAKE_FOLDER);
    await session.call(MAKE_FOLDER);
    expect(session.asked).toHaveLength(2);
  });

  test("never lasts longer than the session for what can do anything", async () => {
    const world = await layout();
    const effects: readonly (readonly Effect[])[] = [
      [{ kind: "foreign", from: "plugin" }],
      [{ kind: "delegate", agent: "reviewer" }],
      [{ kind: "terminal", pane: "%7" }],
    ];
    const { asked, call } = await answering(world, ALWAYS);
    for (const each of effects) {
      await call(each);
      await call(each);
    }
    expect(asked).toHaveLength(effects.length);
    expect(await keptGrants(join(world.stateDir, "grants")).list()).toEqual([]);
    const later = await answering(world, { answer: "refuse" });
    for (const each of effects) expect((await later.call(each)).status).toBe("denied");
  });

  test("never lasts longer than once for typed keys: they mean something else at another prompt", async () => {
    const world = await layout();
    const { asked, call } = await answering(world, ALWAYS);
    for (const keys of [
      ["y", "Enter"],
      ["y", "Enter"],
    ])
      await call([{ kind: "terminal", keys }]);
    expect(asked).toHaveLength(2);
  });

  test("cannot be given if the toolkit does not allow it", async () => {
    const world = await layout();
    const { asked, call } = await answering(world, ALWAYS, { grants: "once" });
    await call(MAKE_FOLDER);
    await call(MAKE_FOLDER);
    expect(asked.map(({ scopes }) => scopes)).toEqual([[], []]);
    const session = await answering(world, ALWAYS, { grants: "session" });
    await session.call(MAKE_FOLDER);
    await session.call(MAKE_FOLDER);
    expect(session.asked).toHaveLength(1);
    expect(await keptGrants(join(world.stateDir, "grants")).list()).toEqual([]);
  });

  test("never covers what is forbidden, even if it was forbidden only later", async () => {
    const world = await layout();
    await (await answering(world, ALWAYS)).call(MAKE_FOLDER);
    const strict = await answering(world, ALWAYS, { policy: { commands: { deny: ["mkdir pushed"] } } });
    expect(await strict.call(MAKE_FOLDER)).toMatchObject({ status: "denied", by: "policy" });
    const readonly = await answering(world, ALWAYS, { policy: { autonomy: "readonly" } });
    expect(await readonly.call(MAKE_FOLDER)).toMatchObject({ status: "denied", by: "policy" });
  });

  test("is stored privately, out of the tools' reach, and an invalid record grants nothing", async () => {
    const world = await layout();
    const { call } = await answering(world, ALWAYS);
    await call(MAKE_FOLDER);
    const folder = join(world.stateDir, "grants");
    const [name = ""] = await readdir(folder);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await call([{ kind: "write", path: join(folder, name) }])).toMatchObject({ status: "denied", by: "policy" });
    const written = await readFile(join(folder, name), "utf8");
    for (const spoiled of ["", "{", written.replace("push", "pull"), written.replace(/"since":\d+/, '"since":"x"')]) {
      await writeFile(join(folder, name), spoiled);
      expect((await (await answering(world, { answer: "refuse" })).call(MAKE_FOLDER)).status).toBe("denied");
    }
  });

  test("that cannot be stored runs nothing, and says so", async () => {
    const world = await layout();
    await mkdir(world.stateDir, { recursive: true });
    await writeFile(join(world.stateDir, "grants"), "in the way");
    const { runs, call } = await answering(world, ALWAYS);
    const result = await call(MAKE_FOLDER);
    expect(result.status).toBe("failed");
    expect(asText(result)).toContain("the grant could not be saved, so nothing ran");
    expect(runs).toEqual([]);
  });
});

describe("an answer", () => {
  test("applies to its call alone: a concurrent or nested call is asked about itself", async () => {
    const world = await layout();
    const open = new Map<string, (approval: Approval) => void>();
    const { tool, runs } = touching();
    const toolkit = await world.toolkit({
      preset: "none",
      tools: [tool],
      approver: ({ request }) => new Promise((resolve) => open.set(request.id, resolve)),
    });
    const outer = toolkit.call({ id: "outer", name: "touching", input: { effects: MAKE_FOLDER, inner: MAKE_FOLDER } });
    const beside = toolkit.call({ id: "beside", name: "touching", input: { effects: MAKE_FOLDER } });
    await waitUntil("both are asked about", () => open.size === 2);
    const answerOuter = open.get("outer");
    answerOuter?.({ answer: "once" });
    await waitUntil("the inner call is asked about", () => open.size === 3);
    answerOuter?.({ answer: "once" }); // a second time: it is used up
    open.get("beside")?.({ answer: "refuse" });
    const inner = [...open.keys()].find((id) => id !== "outer" && id !== "beside") ?? "";
    open.get(inner)?.({ answer: "refuse" });
    open.get(inner)?.({ answer: "once" }); // the declined call stays declined
    expect(await outer).toMatchObject({ status: "ok", data: "denied" });
    expect(await beside).toMatchObject({ status: "denied", by: "person" });
    expect(runs).toHaveLength(1);
  });

  test("does not extend to arguments that change while the person thinks", async () => {
    const world = await layout();
    const input = { command: "touch asked" };
    const toolkit = await world.toolkit({
      preset: "coding",
      policy: { shellConfirm: true },
      approver: async () => {
        input.command = "touch changed";
        return { answer: "once" };
      },
    });
    await toolkit.call({ name: "bash", input });
    expect(await toolkit.backend.files.stat("changed")).toBeUndefined();
  });

  test.each([
    { answer: "always", until: "tomorrow" },
    { answer: "session", until: Number.NaN },
  ])("with a time that is none is a refusal: %j", async (approval) => {
    const { call, runs } = await answering(await layout(), approval as never);
    expect(await call(MAKE_FOLDER)).toMatchObject({ status: "denied", by: "person" });
    expect(runs).toEqual([]);
  });
});
