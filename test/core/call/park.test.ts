import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import { type Move, moved, parkedNow } from "../../../src/record/activity/parked.ts";
import type { Store } from "../../../src/core/contract/activity.ts";
import type { ParkedCall } from "../../../src/core/contract/parked.ts";
import { defineTool } from "../../../src/core/contract/tool.ts";
import { asText } from "../../../src/core/call/result.ts";
import type { ToolkitOptions } from "../../../src/app/toolkit-options.ts";
import { all } from "../../record/activity/events.ts";
import { storeOn, newFile } from "../../record/activity/stores.ts";
import { cases } from "../../support/cases.ts";
import { until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

/** A place of work, and toolkits of several processes that share it. */
async function shared(options: ToolkitOptions & { readonly now?: () => number } = {}) {
  const { now, ...others } = options;
  const file = newFile();
  const workDir = await workspace({ "deploy.sh": "echo one >> log\n" });
  const open = (more: ToolkitOptions = {}) => {
    const store = storeOn(file, { ...(now !== undefined && { now }) });
    return toolkitWith({ workDir, policy: { shellConfirm: true }, park: "now", ...others, ...more, store });
  };
  const log = () => readFile(join(workDir, "log"), "utf8").catch(() => "");
  return { workDir, open, log };
}

const deploy = { id: "a", name: "bash", input: { command: "sh deploy.sh" } };

async function answer(store: Store, approval: "once" | "refuse" = "once") {
  const [question] = await store.questions();
  return store.answer(question?.question ?? "", { answer: approval }, "test");
}

describe("a parked call", () => {
  test("outlives its process: another one makes it once it is approved, and only once", async () => {
    const { open, log } = await shared();
    const first = await open();
    expect(await first.call(deploy)).toEqual({ id: "a", status: "parked", call: "a" });
    expect(asText(await first.resume("a"))).toContain("waits for a person's approval and has not run. Its id is a.");
    await first.close();
    const [second, third] = [await open(), await open()];
    expect(await second.parked()).toMatchObject([{ call: "a", state: "parked", name: "bash" }]);
    expect(await answer(third.store)).toEqual({ status: "answered" });
    const results = await Promise.all([second, third, second].map((toolkit) => toolkit.resume("a")));
    expect(await log()).toBe("one\n");
    expect(results.filter(({ status }) => status === "ok")).not.toEqual([]);
    expect(await second.resume("a")).toMatchObject({ status: "ok" }); // the recorded result
    expect((await all(second.store, { call: "a" })).map(({ type }) => type)).toEqual([
      ...["call.started", "approval.requested", "call.updated", "call.parked", "approval.decided", "call.taken"],
      ...["call.approved", "call.finished"],
    ]);
  });

  test("is asked about again when a file that it names, its arguments' meaning or its folder has changed", async () => {
    const { open, log, workDir } = await shared();
    const toolkit = await open();
    await toolkit.call(deploy);
    const [older] = await toolkit.store.questions();
    await answer(toolkit.store);
    await writeFile(join(workDir, "deploy.sh"), "echo two >> log\n");
    const again = await (await open()).resume("a");
    const changed = [`the content of ${workDir}/deploy.sh`];
    expect(again).toEqual({ id: "a", status: "parked", call: "a", changed });
    expect(await toolkit.store.questions()).toMatchObject([{ call: "a", parked: { changed } }]);
    expect(await toolkit.store.answer(older?.question ?? "", { answer: "once" }, "late")).toMatchObject({
      status: "closed",
      reason: expect.stringMatching(/asks again, since this has changed: the content of .*deploy\.sh$/) as string,
    });
    expect(await log()).toBe("");
    await answer(toolkit.store);
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
    expect(await log()).toBe("two\n");
  });

  const release = (about: string) =>
    defineTool({
      name: "release",
      description: "Releases.",
      touches: ["exec"],
      input: Type.Object({ [about]: Type.Optional(Type.String()) }),
      effects: () => [{ kind: "exec", command: "sh deploy.sh", cwd: "." }],
      run: async () => "released",
    });
  const swap = async (workDir: string, name: string) => {
    await rename(join(workDir, name), join(workDir, `${name}-before`));
    await symlink(`${name}-before`, join(workDir, name));
  };

  test.each<{
    readonly what: string;
    readonly call?: object;
    readonly meanwhile?: (workDir: string) => Promise<unknown>;
    readonly later?: ToolkitOptions;
    readonly changed: readonly string[];
  }>([
    {
      what: "the script that a command names",
      meanwhile: (workDir) => writeFile(join(workDir, "deploy.sh"), "echo two >> log\n"),
      changed: ["the content of W/deploy.sh"],
    },
    {
      what: "a folder, now a link to one with the same script",
      call: { name: "bash", input: { command: "sh sub/deploy.sh" } },
      meanwhile: (workDir) => swap(workDir, "sub"),
      changed: ["the content of W/sub/deploy.sh", "the content of W/sub-before/deploy.sh"],
    },
    {
      what: "a file to write, now a link to another file",
      call: { name: "write", input: { path: ".envrc", content: "x" } },
      meanwhile: (workDir) => swap(workDir, ".envrc"),
      changed: [
        "what it touches",
        "the policy's decision",
        "the content of W/.envrc",
        "the content of W/.envrc-before",
      ],
    },
    {
      what: "a file to write, with another content",
      call: { name: "write", input: { path: ".envrc", content: "x" } },
      meanwhile: (workDir) => writeFile(join(workDir, ".envrc"), "export B=2\n"),
      changed: ["the content of W/.envrc"],
    },
    {
      what: "the tool",
      call: { name: "release", input: {} },
      later: { tools: [release("version")] },
      changed: ["the tool"],
    },
    {
      what: "the policy",
      later: { policy: { shellConfirm: true, commands: { ask: ["sh *"] } } },
      changed: ["the policy's decision"],
    },
  ])(
    "a day later is asked about again, and says what has changed: $what",
    async ({ call, meanwhile, later, changed }) => {
      let clock = Date.now();
      const { open, log, workDir } = await shared({ now: () => clock, preset: "coding", tools: [release("channel")] });
      await mkdir(join(workDir, "sub"));
      await writeFile(join(workDir, "sub/deploy.sh"), "echo one >> log\n");
      await writeFile(join(workDir, ".envrc"), "export A=1\n");
      const first = await open();
      expect(await first.call({ ...deploy, ...call })).toMatchObject({ status: "parked" });
      expect(await answer(first.store)).toEqual({ status: "answered" });
      await first.close();
      clock += 86_400_000;
      await meanwhile?.(workDir);
      const second = await open(later);
      const again = await second.resume("a");
      const told = again.status === "parked" ? again.changed : [asText(again)];
      expect(told?.map((part) => part.replace(workDir, "W")).toSorted()).toEqual(changed.toSorted());
      expect(asText(again)).toContain(told?.[0]);
      expect(await second.store.questions()).toMatchObject([{ call: "a", parked: { changed: told } }]);
      expect(await readFile(join(workDir, ".envrc"), "utf8")).toMatch(/^export/);
      expect(await log()).toBe("");
    },
  );

  test("whose parking lost its reply is parked; one that could not be parked has ended", async () => {
    const { open } = await shared();
    const toolkit = await open();
    const { park } = toolkit.store;
    toolkit.store.park = async (...given) => {
      await park(...given);
      throw new Error("the connection was lost");
    };
    expect(await toolkit.call(deploy)).toEqual({ id: "a", status: "parked", call: "a" });
    toolkit.store.park = async () => {
      throw new Error("the connection was lost");
    };
    expect(await toolkit.call({ ...deploy, id: "b" })).toMatchObject({ status: "failed", hint: "Nothing was run." });
    expect(await toolkit.parked()).toMatchObject([{ call: "a" }]);
    expect(await toolkit.store.questions()).toMatchObject([{ call: "a" }]);
  });

  test("that the policy now denies is not run, and a rule of before asks again", async () => {
    const { open, log } = await shared();
    const first = await open();
    for (const id of ["a", "b"]) await first.call({ ...deploy, id });
    for (const _ of [1, 2]) await answer(first.store);
    const strict = await open({ policy: { shellConfirm: true, commands: { ask: ["sh *"] } } });
    expect(await strict.resume("a")).toMatchObject({ status: "parked", changed: ["the policy's decision"] });
    const closed = await open({ policy: { autonomy: "readonly" } });
    expect(await closed.resume("b")).toMatchObject({ status: "denied", by: "policy" });
    expect(await log()).toBe("");
  });

  test("that is refused, withdrawn or too late is never run, and its result says why", async () => {
    let clock = Date.now();
    const { open, log } = await shared({ now: () => clock });
    const toolkit = await open();
    for (const id of ["a", "b", "c", "d"]) await toolkit.call({ ...deploy, id });
    const questions = await toolkit.store.questions();
    await toolkit.store.answer(questions[0]?.question ?? "", { answer: "refuse", reason: "No." }, "test");
    await toolkit.store.move("b", { to: "withdrawn", by: "Ann" });
    clock += 86_400_000; // a day later
    expect(await toolkit.store.answer(questions[2]?.question ?? "", { answer: "once" }, "test")).toEqual({
      status: "answered",
    });
    expect(await toolkit.resume("c")).toMatchObject({ status: "ok" });
    clock += 7 * 86_400_000;
    const results = await Promise.all(["a", "b", "c", "d"].map((id) => toolkit.resume(id)));
    expect(results.map(asText)).toEqual([
      "Command execution denied by user. No.",
      "The call was stopped before it finished.\nwithdrawn by Ann before it ran",
      expect.any(String),
      "nobody answered within 7 days, so it was not run",
    ]);
    expect(await log()).toBe("one\n");
  });

  test("is made only at its own target and by a toolkit with its tool", async () => {
    const { open } = await shared();
    const toolkit = await open();
    await toolkit.call(deploy);
    await answer(toolkit.store);
    expect(await (await open({ preset: "readonly" })).resume("a")).toMatchObject({ status: "failed" });
    const elsewhere = await open({ workDir: await workspace() });
    expect(await elsewhere.parked()).toEqual([]);
    expect(await elsewhere.resume("a")).toMatchObject({
      message: expect.stringContaining("it belongs to local:") as string,
    });
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
  });

  test("approved for the session grants nothing to the session that makes it", async () => {
    const { open } = await shared();
    const toolkit = await open();
    await toolkit.call(deploy);
    const [question] = await toolkit.store.questions();
    await toolkit.store.answer(question?.question ?? "", { answer: "session" }, "test");
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
    expect(await toolkit.call({ ...deploy, id: "b" })).toMatchObject({ status: "parked" });
  });

  test("is taken when the reply to the claim was lost", async () => {
    const { open, log } = await shared();
    const toolkit = await open();
    await toolkit.call(deploy);
    await answer(toolkit.store);
    const { move } = toolkit.store;
    let lost = 0;
    toolkit.store.move = async (...args) => {
      const outcome = await move(...args);
      if (lost++ === 0) throw new Error("the connection was lost");
      return outcome;
    };
    expect(await toolkit.resume("a")).toMatchObject({ status: "ok" });
    expect(await log()).toBe("one\n");
  });
});

describe("when calls are parked", () => {
  const slow = () => new Promise<never>(() => {});

  test("never by default, and with `park: true` at once, whatever the toolkit has", async () => {
    const { open } = await shared({ park: "never" });
    expect(await (await open()).call(deploy)).toMatchObject({ status: "denied", by: "nobody" });
    const toolkit = await open({ approver: slow });
    expect(await toolkit.call({ ...deploy, id: "b" }, { park: true })).toEqual({
      id: "b",
      status: "parked",
      call: "b",
    });
  });

  test("after a time, also when an approver does not answer; what is answered before runs here", async () => {
    const { open, log } = await shared({ park: { afterMs: 50 } });
    const toolkit = await open({ approver: slow });
    expect(await toolkit.call(deploy)).toEqual({ id: "a", status: "parked", call: "a" });
    const quick = await open({ approver: async () => ({ answer: "once" }) });
    expect(await quick.call({ ...deploy, id: "b" })).toMatchObject({ status: "ok" });
    expect(await log()).toBe("one\n");
  });

  test("not a call with a secret in its arguments, nor one that another call makes", async () => {
    const { open } = await shared();
    const toolkit = await open({ mask: { values: ["hunter2-hunter2"] } });
    const secret = { ...deploy, input: { command: "echo hunter2-hunter2" } };
    expect(await toolkit.call(secret)).toMatchObject({ status: "denied" });
    expect(await toolkit.call({ ...deploy, id: "b", parent: "z" })).toMatchObject({ status: "denied" });
    expect(await toolkit.parked()).toEqual([]);
  });
});

test("two hundred parked calls are each made once by four toolkits", { timeout: 60_000 }, async () => {
  const { open, log } = await shared();
  const toolkits = await Promise.all([1, 2, 3, 4].map(() => open()));
  const ids = Array.from({ length: 200 }, (_, index) => `call-${index}`);
  await Promise.all(ids.map((id) => toolkits[0]!.call({ id, name: "bash", input: { command: "echo >> log" } })));
  const asked = await toolkits[0]!.store.questions();
  await Promise.all(asked.map(({ question }) => toolkits[1]!.store.answer(question, { answer: "once" }, "test")));
  await Promise.all(toolkits.flatMap((toolkit) => asked.map(({ call }) => toolkit.resume(call))));
  expect(await log()).toBe("\n".repeat(200));
  await until("all have ended", async () => (await toolkits[2]!.parked()).length === 0);
});

describe("the table of moves", () => {
  const orders = fc.array(
    fc.constantFrom<Move | "later" | "finished">(
      { to: "ready", approval: { answer: "once" }, by: "one" },
      { to: "ready", approval: { answer: "refuse" }, by: "two" },
      { to: "taken", claim: "one", target: "t" },
      { to: "taken", claim: "two", target: "t" },
      { to: "taken", claim: "three", target: "other" },
      { to: "withdrawn", by: "one" },
      { to: "expired" },
      { to: "delivered" },
      "later",
      "finished",
    ),
    { maxLength: 12 },
  );
  const parking = {
    ...{ call: "a", thread: "main", question: "q", target: "t", name: "bash", input: {}, about: {}, turn: "t" },
    ...{ refusal: "Denied.", keepMs: 10 },
  };

  test("in any order a call ends at most once, is taken by one claim, and only after an approval in time", () => {
    fc.assert(
      fc.property(orders, (order) => {
        let at = 0;
        let row: ParkedCall | undefined = parkedNow(parking, at).row;
        const happened: string[] = [];
        for (const step of order) {
          if (step === "later") at += 11;
          else if (step === "finished") {
            if (row?.state !== "taken") continue;
            row = { ...row, state: "ended" };
            happened.push("call.finished");
          } else {
            const result = moved(row, step, at);
            if (result.refused !== undefined)
              expect(result.row?.state === row?.state || result.row?.state === "ended").toBe(true);
            row = result.row;
            happened.push(...result.events.map((event) => event.type));
          }
        }
        const of = (type: string) => happened.filter((each) => each === type).length;
        expect(of("call.finished")).toBeLessThanOrEqual(1);
        expect(of("call.taken")).toBeLessThanOrEqual(1);
        expect(of("approval.decided")).toBeLessThanOrEqual(1);
        if (of("call.taken") === 1) expect(happened.slice(0, 2)).toEqual(["approval.decided", "call.taken"]);
        if (row?.state === "ended" || row === undefined) expect(of("call.finished")).toBe(1);
      }),
      { numRuns: cases(1_000) },
    );
  });

  test("answers, claims, withdrawals and stops in any interleaving run a call at most once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.boolean(), async (scheduler, refuses) => {
        const store = memoryStore();
        const workDir = await workspace();
        const options = { store, workDir, policy: { shellConfirm: true }, park: "now" } as const;
        const toolkit = await toolkitWith(options);
        await toolkit.call({ ...deploy, input: { command: "echo ran >> log" } });
        const ran = () => readFile(join(workDir, "log"), "utf8").catch(() => "");
        const steps: readonly (() => Promise<unknown>)[] = [
          () => answer(store),
          () => answer(store, refuses ? "refuse" : "once"),
          () => toolkit.resume("a"),
          () => toolkit.resume("a"),
          () => store.move("a", { to: "withdrawn", by: "test" }),
          async () => store.append({ type: "stop.requested", thread: "main", call: "a", at: 0, by: "test" }),
        ];
        const work = steps.map(async (step, index) => {
          await scheduler.schedule(Promise.resolve(), `step ${index}`);
          await step();
        });
        await scheduler.waitAll();
        await Promise.all(work);
        await toolkit.resume("a");
        expect(["", "ran\n"]).toContain(await ran());
        expect((await all(store, { call: "a", types: ["call.finished"] })).length).toBeLessThanOrEqual(1);
        expect(await toolkit.parked()).toHaveLength(
          (await all(store, { types: ["call.finished"] })).length === 1 ? 0 : 1,
        );
        await toolkit.close();
      }),
      { numRuns: cases(20) },
    );
  }, 60_000);
});
