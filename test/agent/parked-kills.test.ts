import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { readThread } from "../../src/record/activity/messages.ts";
import { sqliteStore } from "../../src/record/activity/sqlite-store.ts";
import { all } from "../record/activity/events.ts";
import { cases } from "../support/cases.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/agent/parked.mjs", import.meta.url));

/** How many steps of the store a process lives for at most, before and after each of them. */
const KILL_POINTS = 60;

const ROUNDS = Number(process.env["HANDRAIL_KILLS"] ?? cases(3));

test(`kill -9 at ${ROUNDS} points between question and result, with two runners: nothing runs twice`, async () => {
  const file = `${temporaryFolder()}/state/parked.db`;
  const [workDir, stateDir] = [temporaryFolder(), temporaryFolder()];
  const store = sqliteStore({ file, lookMs: 5 });
  onTestFinished(() => store.close());
  const running = new Set<ChildProcess>();
  onTestFinished(() => running.forEach((child) => child.kill("SIGKILL")));
  const counts = { killed: 0, asked: 0, approved: 0, refused: 0, ok: 0, interrupted: 0, runs: 0 };

  /** Starts a process that dies at a point, and resolves when it is ready or has ended. */
  const start = async (words: readonly string[], killAt?: number) => {
    const child = spawn(process.execPath, [PROGRAM, file, workDir, stateDir, ...words], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...(killAt !== undefined && { KILL_AT: `${killAt}` }) },
    });
    running.add(child);
    const ended = new Promise<void>((resolve) => {
      child.once("close", (_code, signal) => {
        running.delete(child);
        if (signal === "SIGKILL") counts.killed++;
        resolve();
      });
    });
    await Promise.race([new Promise((resolve) => child.stdout.once("data", resolve)), ended]);
    return { child, ended };
  };

  let point = 0;
  const nextPoint = () => (point++ * 7) % KILL_POINTS; // all points, those near each other in different rounds
  const take = () => start(["take"], 1 + nextPoint());
  const runners = [await take(), await take()];
  const threads = Array.from({ length: ROUNDS }, (_, round) => `t${round}`);
  const approved = new Set<string>();
  for (const [round, thread] of threads.entries()) {
    await (
      await start(["ask", thread], round % 3 === 2 ? 1 + (round % KILL_POINTS) : undefined)
    ).ended;
    for (const { call, question } of await store.questions()) {
      counts.asked++;
      const answer = (counts.asked + round) % 5 === 0 ? "refuse" : "once";
      const { status } = await store.answer(question, { answer }, "test");
      if (status !== "answered") continue;
      counts[answer === "once" ? "approved" : "refused"]++;
      if (answer === "once") approved.add(call);
    }
    // Half of the runners die while the command runs, which is no step of the store.
    if (round % 2 === 0) setTimeout(() => runners[(round / 2) % 2]?.child.kill("SIGKILL"), Math.random() * 200);
    const haveEnded = async () => {
      for (const [index, { child }] of runners.entries()) if (!running.has(child)) runners[index] = await take();
      return (await store.parked()).length === 0 && (await store.questions()).length === 0;
    };
    await until(`the calls of ${thread} have ended`, haveEnded, 120_000).catch(async (error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(await store.parked())}`);
    });
  }
  for (const { child, ended } of runners) {
    child.kill("SIGKILL");
    await ended;
  }
  const { killed } = counts;
  await (
    await start(["finish", ...threads])
  ).ended;
  expect(counts.killed).toBe(killed); // the last one was not killed

  const ran = readFileSync(`${workDir}/log`, "utf8").split("\n").filter(Boolean);
  counts.runs = ran.length;
  expect(new Set(ran).size).toBe(ran.length);
  for (const thread of threads.flatMap((each) => [each, `${each}-program`])) {
    for (const message of await readThread(store, thread)) {
      if (message.role !== "tool") continue;
      expect(message.result, JSON.stringify(message)).toBeDefined(); // what a person sees
      const { id, input } = message.metadata.tool_activity;
      if (!approved.has(id)) continue;
      expect(["ok", "interrupted"], JSON.stringify(message)).toContain(message.result);
      counts[message.result === "ok" ? "ok" : "interrupted"]++;
      const [, line = ""] = /echo (\S+)/.exec(JSON.stringify(input)) ?? [];
      if (message.result === "ok") expect(ran).toContain(line);
    }
    await expectValid(thread);
  }
  expect(counts.ok + counts.interrupted).toBe(counts.approved);
  expect(counts.ok).toBeGreaterThan(0);
  expect(await store.parked()).toEqual([]);
  if (process.env["HANDRAIL_KILLS"] !== undefined) process.stdout.write(`${JSON.stringify(counts)}\n`);

  /** The results of a reply's calls come right after it, exactly one for each, and calls have ended once. */
  async function expectValid(thread: string) {
    let open = new Set<string>();
    for await (const event of store.events({ thread, messages: true, types: ["message.added"] })) {
      if (event.type !== "message.added") continue;
      const { message } = event;
      if (message.role === "tool") {
        expect(open.delete(message.call), `${thread}: ${message.call}`).toBe(true);
        continue;
      }
      expect([...open], thread).toEqual([]);
      if (message.role !== "assistant") continue;
      open = new Set(message.content.flatMap((part) => (part.type === "call" ? [part.id] : [])));
    }
    expect([...open], thread).toEqual([]);
    const endings = (await all(store, { thread, types: ["call.finished"] })).map(({ call }) => call);
    expect(new Set(endings).size, thread).toBe(endings.length);
  }
}, 3_600_000);
