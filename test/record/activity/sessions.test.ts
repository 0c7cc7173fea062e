import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import type { JobLifetime } from "../../../src/core/contract/lifetime.ts";
import { all } from "./events.ts";
import { besides, newFile, started, storeOn } from "./stores.ts";

test.each([
  ["is no more", "pid = 99999999"],
  ["has a number that another one has now", "process_start = 'another'"],
  ["runs on a host that is not visible from here", "host = 'another'"],
  ["is this one, where that turn has ended", "turn = 'ended'"],
])("a thread that was taken by a process that %s is free", async (_, change) => {
  const file = newFile();
  const { signal } = new AbortController();
  await storeOn(file).takeThread("main", signal);
  (await besides(file)).exec(`UPDATE taken_threads SET ${change}`);
  await expect(storeOn(file).takeThread("main", signal)).resolves.toBeTypeOf("function");
});

describe("what a process left in progress", () => {
  const PROGRAM = fileURLToPath(new URL("../../fixtures/activity/calls.mjs", import.meta.url));
  const at = Date.now();
  const approved = (call: string): ActivityEvent => {
    return {
      call,
      thread: "main",
      at,
      type: "call.approved",
      effects: [],
      decision: { verdict: "allow", risk: "low" },
    };
  };
  const job = (call: string, name: string, lifetime: JobLifetime): ActivityEvent => {
    return { call, thread: "main", at, type: "job.started", job: name, command: "sleep 9", lifetime };
  };

  /** Leaves calls in progress, and changes the identity of their process in this column. */
  async function leave(file: string, events: readonly ActivityEvent[], change: string): Promise<void> {
    const store = storeOn(file);
    for (const each of events) store.append(each);
    await store.close();
    (await besides(file)).exec(`UPDATE sessions SET ${change}`);
  }

  test("stays while it runs, and is closed once by the next process that opens the file", async () => {
    const file = newFile();
    const child = spawn(process.execPath, [PROGRAM, file, "child", "1"], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGSTOP");
    child.stdout.resume();
    const whileItLives = storeOn(file);
    const before = await all(whileItLives);
    expect(before.length).toBeGreaterThan(0);
    expect(before.filter((each) => each.type === "call.finished" && each.status === "interrupted")).toEqual([]);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    const afterwards = await Promise.all([all(storeOn(file)), all(storeOn(file)), all(storeOn(file))]);
    const last = afterwards[0].at(-1)?.call;
    for (const events of [...afterwards, await all(whileItLives)]) {
      const endings = events.filter((each) => each.type === "call.finished" && each.call === last);
      expect(endings).toHaveLength(1);
    }
  });

  test.each([
    ["of a process that is no more", "pid = 99999999"],
    ["of a process whose number another one has now", "process_start = 'another'"],
    ["of the system before it was started again", "boot = 'another'"],
  ])("is closed when it was %s: calls, and jobs that are not detached", async (_, change) => {
    const file = newFile();
    const begun = [
      started("new"),
      started("run"),
      approved("run"),
      job("run", "1", "toolkit"),
      job("run", "2", "detached"),
      started("done"),
    ];
    const ended: ActivityEvent[] = [
      { call: "done", thread: "main", at, type: "call.finished", status: "ok" },
      job("done", "7", "toolkit"),
      { call: "done", thread: "main", at, type: "job.ended", job: "7", exit: { how: "exited", code: 0 } },
    ];
    await leave(file, [...begun, ...ended], change);
    const events = (await all(storeOn(file))).slice(begun.length + ended.length);
    expect(events).toMatchObject([
      { call: "new", type: "call.finished", status: "interrupted", error: "interrupted before it ran" },
      {
        call: "run",
        type: "call.finished",
        status: "interrupted",
        error: "interrupted: the process running it ended; whether it took effect is unknown. It was not run again.",
      },
      { call: "run", type: "job.ended", job: "1", exit: { how: "lost", reason: expect.any(String) } },
    ]);
    expect(events).toHaveLength(3);
    expect((await besides(file)).all("SELECT * FROM sessions")).toEqual([]);
  });

  test.each([
    ["of another host", "host = 'elsewhere', boot = 'another'"],
    ["of another container", "pid_namespace = 'pid:[1]', pid = 99999999"],
    ["of a living process", "opened_at = 1"],
  ])("is left alone when it is %s", async (_, change) => {
    const file = newFile();
    await leave(file, [started("run"), approved("run")], change);
    expect(await all(storeOn(file))).toHaveLength(2);
    expect((await besides(file)).all("SELECT * FROM sessions")).toHaveLength(1);
  });

  test("is nothing when all its calls had ended: then the session is removed", async () => {
    const file = newFile();
    const store = storeOn(file);
    store.append(started("run"));
    await store.commit({ call: "run", thread: "main", at, type: "call.finished", status: "ok" });
    const other = await besides(file);
    expect(other.all("SELECT pid FROM sessions")).toMatchObject([{ pid: process.pid }]);
    await store.close();
    expect(other.all("SELECT pid FROM sessions")).toEqual([]);
  });
});
