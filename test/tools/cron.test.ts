import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type ScheduledAgents, scheduleRunner } from "../../src/cli/schedules.ts";
import type { Notice } from "../../src/core/contract/notice.ts";
import type { Approver } from "../../src/core/contract/policy.ts";
import type { Run } from "../../src/core/contract/schedule.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { asText } from "../../src/core/call/result.ts";
import { type ScriptedReply, scriptedModel } from "../suites/scripted-model.ts";
import { describeCall } from "../../src/policy/describe.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { until } from "../support/until.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

/** A toolkit with the assistant's tools, whose person approves and sees what is kept in `shown`. */
async function assistant(options: ToolkitOptions = {}) {
  const folder = options.workDir ?? (await workspace({}));
  const stateDir = options.stateDir ?? temporaryFolder();
  const shown: string[] = [];
  const approver: Approver = async (call) => {
    shown.push(describeCall(call));
    return { answer: "once" };
  };
  const given = { preset: "assistant", workDir: folder, stateDir, sandbox: "off", approver } as const;
  const toolkit = await toolkitWith({ ...given, store: sqliteStore({ file: `${stateDir}/record.db` }), ...options });
  const text = async (name: string, input: unknown) => asText(await toolkit.call({ name, input }));
  return { folder, stateDir, shown, toolkit, text };
}

/** Adds a schedule that never comes by itself, and returns its id. */
async function added({ toolkit }: { readonly toolkit: Toolkit }, work: object): Promise<string> {
  const schedule = { kind: "cron", expr: "0 0 1 1 *" };
  const result = await toolkit.call({ name: "cron_add", input: { name: "job", schedule, ...work } });
  expect(result.status, asText(result)).toBe("ok");
  return result.status === "ok" ? (result.data as { readonly job_id: string }).job_id : "";
}

/** Runs a schedule now, with a runner of this toolkit. */
async function ran({ toolkit }: { readonly toolkit: Toolkit }, id: string): Promise<Run | undefined> {
  expect(await toolkit.schedules.fire(id, "person")).toEqual({});
  return await looked({ toolkit }, id);
}

async function looked(
  { toolkit }: { readonly toolkit: Toolkit },
  id: string,
  agents?: ScheduledAgents,
): Promise<Run | undefined> {
  const runner = scheduleRunner({ toolkit, agents });
  await runner.once();
  await runner.close();
  return (await toolkit.schedules.runs({ schedule: id, limit: 1 }))[0];
}

test("cron_add shows the command, the schedule in words and the next three runs, and adds exactly that", async () => {
  const { toolkit, text, shown } = await assistant();
  const schedule = { kind: "cron", expr: "30 2 * * 1-5", tz: "Europe/Berlin" };
  expect(await text("cron_add", { name: "backup", schedule, command: "  echo saved\n" })).toMatch(
    /^Scheduled job \w{8} "backup": At 02:30, Monday through Friday \(Europe\/Berlin\)\.\nNext runs: .*\nNo process runs/,
  );
  expect(shown[0]).toMatch(
    /^Schedule "backup": At 02:30, Monday.*the command:\necho saved\nNext runs: (?:.*02:30:00.*){3}/,
  );
  expect(shown[0]).toContain("Run in the background, also after this session: echo saved");
  expect(await toolkit.schedules.list()).toMatchObject([{ name: "backup", work: { command: "echo saved" } }]);
  expect(JSON.parse(await text("cron_list", {}))).toMatchObject([{ name: "backup", command: "echo saved", runs: [] }]);
});

test.each([
  [{ schedule: { kind: "at", at: "2020-01-01T00:00Z" }, command: "date" }, "expected a time in the future"],
  [{ schedule: { kind: "cron", expr: "every day" }, command: "date" }, "expected a cron expression of 5 fields"],
  [{ schedule: { kind: "every", every_ms: 5_000, tz: "Nowhere" }, command: "date" }, "expected an IANA time zone"],
  [
    { schedule: { kind: "every", every_ms: 5_000 }, command: "date", prompt: "hi" },
    "either command or prompt, got both",
  ],
  [{ schedule: { kind: "every", every_ms: 60_000 }, prompt: "hi" }, "at least 5 minutes apart, got minute"],
  [{ schedule: { kind: "job", job: "7" }, command: "date" }, 'there is no job "7"'],
] as const)("%j is an error that says what was expected", async (input, message) => {
  const { text } = await assistant();
  expect(await text("cron_add", { name: "job", ...input })).toContain(message);
});

test("cron_remove of an unknown id names those that exist", async () => {
  const given = await assistant();
  const id = await added(given, { command: "date" });
  expect(await given.text("cron_remove", { job_id: "none" })).toContain(`Expected one of ${id}.`);
  expect(await given.text("cron_remove", { job_id: id })).toBe(`Removed job ${id} "job"`);
  expect(await given.text("cron_list", {})).toBe("No scheduled jobs");
});

test("a run has its own thread, with its call and the result, and its end is that of the command", async () => {
  const given = await assistant();
  const good = await added(given, { command: "touch done; echo fine" });
  expect(await ran(given, good)).toMatchObject({ state: "succeeded", note: "fine", cause: "person" });
  expect(existsSync(`${given.folder}/done`)).toBe(true);
  const bad = await added(given, { command: "touch done; echo broken >&2; exit 3" });
  const run = await ran(given, bad);
  expect(run).toMatchObject({ state: "failed", note: expect.stringMatching(/Exit code: 3.*broken/) });
  const types: string[] = [];
  for await (const { type } of given.toolkit.store.events({ thread: run?.thread ?? "" })) types.push(type);
  expect(types).toEqual(expect.arrayContaining(["thread.created", "message.added", "call.started", "call.finished"]));
});

test("a command that a later deny rule forbids does not run, and the run says why", async () => {
  const given = await assistant();
  const id = await added(given, { command: "touch stolen" });
  await given.toolkit.close();
  const { folder: workDir, stateDir } = given;
  const later = await assistant({ workDir, stateDir, policy: { commands: { deny: ["touch *"] } } });
  expect(await ran(later, id)).toMatchObject({ state: "denied", note: expect.stringContaining("touch") });
  expect(existsSync(`${workDir}/stolen`)).toBe(false);
});

test("what nobody approved waits, whatever the process that runs it would allow, and runs when it is approved", async () => {
  const given = await assistant({ policy: { autonomy: "full" } });
  const id = await added(given, { command: "touch made" }); // full autonomy: nobody was asked
  expect(given.shown).toEqual([]);
  await given.toolkit.close();
  const { folder: workDir, stateDir } = given;
  const later = await assistant({ workDir, stateDir }); // its approver says yes to everything
  expect(await ran(later, id)).toMatchObject({ state: "waiting" });
  expect(later.shown).toEqual([]);
  expect(await looked(later, id)).toMatchObject({ state: "waiting" });
  expect(await later.toolkit.schedules.fire(id, "clock")).toMatchObject({ refused: "run 1 still waits for a person" });
  const [question] = await later.toolkit.store.questions();
  await later.toolkit.store.answer(question?.question ?? "", { answer: "once" }, "test");
  await looked(later, id);
  expect(await later.toolkit.schedules.runs({ run: 1 })).toMatchObject([{ state: "succeeded" }]);
  expect(existsSync(`${workDir}/made`)).toBe(true);
});

test("a refused question ends the run as denied", async () => {
  const given = await assistant({ policy: { autonomy: "full" } });
  const id = await added(given, { command: "touch made" });
  await given.toolkit.close();
  const later = await assistant({ workDir: given.folder, stateDir: given.stateDir });
  await ran(later, id);
  const [question] = await later.toolkit.store.questions();
  await later.toolkit.store.answer(question?.question ?? "", { answer: "refuse", reason: "not now" }, "test");
  expect(await looked(later, id)).toMatchObject({ state: "denied", note: expect.stringContaining("not now") });
});

test("the approval is for the content of the script that was there: another one waits for a person", async () => {
  const given = await assistant();
  writeFileSync(`${given.folder}/backup.sh`, "echo one >>log\n");
  const id = await added(given, { command: "sh backup.sh" });
  expect(await ran(given, id)).toMatchObject({ state: "succeeded" });
  appendFileSync(`${given.folder}/backup.sh`, "echo two >>log\n");
  expect(await ran(given, id)).toMatchObject({ state: "waiting" });
  expect(readFileSync(`${given.folder}/log`, "utf8")).toBe("one\n");
});

test("a recurring agent is asked about in full autonomy too, with its whole prompt", async () => {
  const { text, shown } = await assistant({ policy: { autonomy: "full" } });
  const prompt = `Read the news. ${"Look closely. ".repeat(100)}Then stop.`;
  await text("cron_add", { name: "news", schedule: { kind: "every", every_ms: 300_000 }, prompt });
  expect(shown[0]).toContain(prompt);
});

const agentOf = (script: readonly ScriptedReply[]): ScheduledAgents => ({
  ...{ model: scriptedModel(script), limits: {}, instructions: {}, disable: [], agents: {} },
});

test("an agent's run ends as its turn does; a call that needs a person waits, and goes on when approved", async () => {
  const given = await assistant();
  const calls = [{ name: "shell", input: { command: "touch made", approved: true } }];
  const id = await added(given, { prompt: "make it" });
  await given.toolkit.schedules.fire(id, "person");
  expect(await looked(given, id, agentOf([{ calls }]))).toMatchObject({ state: "waiting" });
  expect(given.shown).toHaveLength(1); // the schedule itself: the run asks no approver
  const [question] = await given.toolkit.store.questions();
  expect(question).toMatchObject({ name: "shell", parked: {} });
  expect(await looked(given, id, agentOf([]))).toMatchObject({ state: "waiting" });
  await given.toolkit.store.answer(question?.question ?? "", { answer: "once" }, "test");
  expect(await looked(given, id, agentOf([{ text: "It is made." }]))).toMatchObject({
    ...{ state: "succeeded", note: "It is made." },
  });
  expect(existsSync(`${given.folder}/made`)).toBe(true);
  await given.toolkit.schedules.fire(id, "person");
  const tooLong = { calls: [{ name: "cron_list", input: {} }], input: 9_000, output: 9_000 };
  const limited = { ...agentOf([tooLong, tooLong]), limits: { tokens: 1_000 } };
  expect(await looked(given, id, limited)).toMatchObject({
    state: "failed",
    note: expect.stringContaining("max_tokens"),
  });
  const dear = await added(given, { prompt: "make it", max_cost: 0.01 });
  await given.toolkit.schedules.fire(dear, "person");
  const priced = { ...agentOf([tooLong, tooLong]), limits: { price: { input: 1, output: 1 } } };
  expect(await looked(given, dear, priced)).toMatchObject({
    state: "failed",
    note: expect.stringContaining("max_cost"),
  });
});

test.each([
  ["FAILED: the server has no such table", "failed"],
  ["**FAILED** after three attempts", "failed"],
  ["The tests failed, as was expected.", "succeeded"],
])("an agent whose last message is %j has %s", async (text, state) => {
  const given = await assistant();
  const id = await added(given, { prompt: "make it" });
  await given.toolkit.schedules.fire(id, "person");
  expect(await looked(given, id, agentOf([{ text }]))).toMatchObject({ state, note: text });
  expect(await given.toolkit.schedules.get(id)).toMatchObject({ failures: state === "failed" ? 1 : 0 });
});

test("a process without a model leaves agents to others", async () => {
  const given = await assistant();
  const id = await added(given, { prompt: "make it" });
  await given.toolkit.schedules.fire(id, "person");
  expect(await looked(given, id)).toBeUndefined();
});

test("a changed file and the end of a job start one run each", async () => {
  const given = await assistant({ preset: "all" });
  const { toolkit, folder, text } = given;
  const watched = { schedule: { kind: "file", path: "input.txt" }, command: "cat input.txt" };
  const onFile = await added(given, watched);
  expect(await looked(given, onFile)).toBeUndefined();
  writeFileSync(`${folder}/input.txt`, "fresh");
  await looked(given, onFile);
  await looked(given, onFile);
  expect(await toolkit.schedules.runs()).toMatchObject([{ cause: "file", state: "succeeded", note: "fresh" }]);

  const started = await text("bash", { command: "until [ -e go ]; do sleep 0.05; done", background: true });
  const job = /[Jj]ob (\d+)/.exec(started)?.[1] ?? started;
  const onJob = await added(given, { schedule: { kind: "job", job }, command: "echo after" });
  expect(await looked(given, onJob)).toBeUndefined();
  writeFileSync(`${folder}/go`, "");
  await until("the run has ended", async () => (await looked(given, onJob))?.state === "succeeded");
  expect(await toolkit.schedules.get(onJob)).toBeUndefined();
});

test("grants of a session do not reach a run", async () => {
  const first = await assistant({ policy: { autonomy: "full" } });
  const id = await added(first, { command: "touch made" });
  await first.toolkit.close();
  const { folder: workDir, stateDir } = first;
  const { toolkit } = await assistant({ workDir, stateDir, approver: async () => ({ answer: "session" }) });
  expect(await toolkit.call({ name: "shell", input: { command: "touch made" } })).toMatchObject({ status: "ok" });
  expect(await ran({ toolkit }, id)).toMatchObject({ state: "waiting" });
});

test("people are told when a run fails, with secrets masked, and not when it succeeds", async () => {
  const told: Notice[] = [];
  const mask = { values: ["tr0ub4dor-and-3"] };
  const tools = await assistant({ mask, onWaiting: (notice) => void told.push(notice) });
  await ran(tools, await added(tools, { command: "true" }));
  expect(told).toEqual([]);
  writeFileSync(`${tools.folder}/fails.sh`, "echo tr0ub4dor-and-3; exit 3\n");
  await ran(tools, await added(tools, { command: "sh fails.sh" }));
  expect(told).toMatchObject([
    {
      about: "schedule",
      title: 'Schedule "job": failed',
      text: expect.stringMatching(/^Schedule "job", run .*: failed: .*\[masked: /s) as string,
    },
  ]);
});
