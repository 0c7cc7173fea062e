import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type JobManager, type JobsOptions, createJobs } from "../../../src/record/activity/jobs.ts";
import { memoryStore } from "../../../src/record/activity/memory-store.ts";
import { local } from "../../../src/machine/local/backend.ts";
import type { ActivityEvent } from "../../../src/core/contract/activity.ts";
import type { Backend } from "../../../src/core/contract/backend.ts";
import type { JobCommand } from "../../../src/core/contract/job.ts";
import { isAlive, until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Kept {
  readonly jobs: JobManager;
  readonly backend: Backend;
  readonly folder: string;
  /** Starts a shell script. */
  start(script: string, thread?: string, more?: Partial<JobCommand>): ReturnType<JobManager["start"]>;
  events(): Promise<readonly ActivityEvent[]>;
}

async function manager(options: Partial<JobsOptions> = {}): Promise<Kept> {
  const folder = temporaryFolder();
  const backend = await local({
    workDir: folder,
    outputFolder: join(folder, "outputs"),
    jobFolder: join(folder, "jobs"),
  });
  const store = memoryStore();
  const jobs = createJobs({ backend, store, ...options });
  closing.push(
    () => jobs.close(),
    () => backend.close(),
  );
  return {
    jobs,
    backend,
    folder,
    start: (script, thread = "main", more = {}) =>
      jobs.start({ argv: ["bash", "-c", script], lifetime: "toolkit", ...more }, script, {
        call: `call of ${script}`,
        thread,
      }),
    async events() {
      const all: ActivityEvent[] = [];
      for await (const event of store.events()) all.push(event);
      return all;
    },
  };
}

describe("keeping jobs", () => {
  test("numbers them in the order they were started, and knows when they have ended", async () => {
    const { jobs, start } = await manager();
    const [one, two] = [await start("exit 4"), await start("exec sleep 1000")];
    expect([one.id, two.id]).toEqual(["1", "2"]);
    await one.process.exit;
    expect(one.ended).toMatchObject({ exit: { how: "exited", code: 4 }, atMs: expect.any(Number) });
    expect(two.ended).toBeUndefined();
    expect((await jobs.list()).map(({ id }) => id)).toEqual(["1", "2"]);
    expect(await jobs.get("2")).toBe(two);
    expect(await jobs.get("3")).toBeUndefined();
  });

  test("records the start and the end, with the call and the thread that they belong to", async () => {
    const { start, events } = await manager();
    const job = await start("exit 4", "a thread");
    await job.process.exit;
    expect(await events()).toMatchObject([
      {
        type: "job.started",
        call: "call of exit 4",
        thread: "a thread",
        job: "1",
        command: "exit 4",
        lifetime: "toolkit",
      },
      { type: "job.ended", call: "call of exit 4", thread: "a thread", job: "1", exit: { how: "exited", code: 4 } },
    ]);
  });

  test("continues when nothing can be recorded", async () => {
    const { jobs, start } = await manager({
      store: {
        append: () => {
          throw new Error("the disk is full");
        },
      },
    });
    const job = await start("exit 0");
    expect(await job.process.exit).toEqual({ how: "exited", code: 0 });
    expect(jobs.notices.take("main")).toHaveLength(1);
  });

  test("keeps the output of the last 32 ended jobs, and of all running ones", async () => {
    const { jobs, start } = await manager();
    const running = await start("exec sleep 1000");
    for (let count = 0; count < 34; count++) await (await start("echo hi")).process.exit;
    await until("the oldest are forgotten", async () => (await jobs.list()).length === 33);
    expect((await jobs.list()).map(({ id }) => Number(id))).toEqual([
      1,
      ...Array.from({ length: 32 }, (_, index) => index + 4),
    ]);
    expect(await jobs.openOutput("job-2")).toBeUndefined();
    expect((await jobs.openOutput("job-4"))?.info).toMatchObject({ size: 3, path: "output://job-4" });
    expect(running.ended).toBeUndefined();
  });

  test("keeps their output within its limit, and always that of the last one", async () => {
    const { jobs, start } = await manager({ mostEndedBytes: 1_000_000 });
    const ids = async () => (await jobs.list()).map(({ id }) => id);
    for (let count = 0; count < 4; count++) await (await start("head -c 400000 /dev/zero")).process.exit;
    await until("the first ones are forgotten", async () => (await ids()).length <= 2);
    expect(await ids()).toEqual(["3", "4"]);
    await (
      await start("head -c 2000000 /dev/zero")
    ).process.exit;
    await until("the others are forgotten", async () => (await ids()).length === 1);
    expect((await jobs.openOutput("job-5"))?.info).toMatchObject({ size: 2_000_000 });
  });

  test("does not count failed starts against the limit", async () => {
    const { jobs, start } = await manager();
    const nowhere = () => start("true", "main", { cwd: "none" });
    for (let count = 0; count < 40; count++) await expect(nowhere()).rejects.toThrow("there is no folder");
    await start("exec sleep 1000");
    expect(await jobs.list()).toHaveLength(1);
  });

  test("runs at most 32 at a time", async () => {
    const { start } = await manager();
    const outcomes = await Promise.allSettled(Array.from({ length: 36 }, () => start("exec sleep 1000")));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(32);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(String(outcome.reason)).toContain("32 jobs are running");
  });

  test("refuses what it cannot keep", async () => {
    const brief = await manager({ lifetime: "call" });
    await expect(brief.start("touch ran")).rejects.toThrow("would end with the one call");
    expect(existsSync(join(brief.folder, "ran"))).toBe(false);
    const { backend } = await manager();
    const jobs = createJobs({ backend: { spawn: backend.spawn }, store: memoryStore() });
    const detached = jobs.start({ argv: ["true"], lifetime: "detached", label: "x" }, "true", {
      call: "c",
      thread: "t",
    });
    await expect(detached).rejects.toThrow("this backend cannot keep a process that outlives it");
    expect(await jobs.list()).toEqual([]);
  });
});

test("of a watched job the last lines are recorded when they change, and those before its end", async () => {
  const { jobs, start, events, folder } = await manager();
  const script = "seq 1 2000; while [ ! -e go ]; do sleep 0.05; done; echo bye";
  const { id, call = "", process } = await start(script);
  jobs.watch(id, { call: "another call", thread: "main" });
  jobs.watch(id, { call, thread: "main" });
  const texts = async () => (await events()).flatMap((event) => (event.type === "job.output" ? [event.text] : []));
  await until("the end of the lines is recorded", async () => (await texts()).at(-1)?.endsWith("\n2000\n") === true);
  expect((await texts()).at(-1)).toMatch(/^1\d\d\d\n/); // no part of a line
  writeFileSync(join(folder, "go"), "");
  await process.exit;
  await until("the last line is recorded", async () => (await texts()).at(-1)?.endsWith("bye\n") === true);
  expect(new Set(await texts()).size).toBe((await texts()).length);
});

describe("a notice", () => {
  test("reports the end of a job, once, in its thread", async () => {
    const { jobs, start } = await manager();
    await (
      await start("printf abc; exit 2", "one")
    ).process.exit;
    await (
      await start("true", "two")
    ).process.exit;
    expect(jobs.notices.take("one")).toEqual([
      expect.stringMatching(
        /^Job 1 has ended: printf abc; exit 2\. Exit code 2 after \d+\.\d s, 3B of output in output:\/\/job-1$/,
      ),
    ]);
    expect(jobs.notices.take("one")).toEqual([]);
    expect(jobs.notices.take("two")).toHaveLength(1);
  });

  test("is not repeated", async () => {
    const { jobs, start } = await manager();
    for (const script of ["exit 1", "exit 2", "exit 3"]) await (await start(script)).process.exit;
    jobs.told("2");
    jobs.told("none");
    expect(jobs.notices.take("main").map((text) => text.slice(0, 5))).toEqual(["Job 1", "Job 3"]);
  });

  test("fits on a line for any command", async () => {
    const { jobs, start } = await manager();
    await (
      await start(`: '${"long\n".repeat(200)}'`)
    ).process.exit;
    const [notice = ""] = jobs.notices.take("main");
    expect(notice).not.toContain("\n");
    expect(notice.length).toBeLessThan(250);
  });
});

describe("the output of a job as a file", () => {
  test("can be opened by its name, with its current length", async () => {
    const { jobs, start } = await manager();
    const job = await start("printf 0123456789");
    await job.process.exit;
    const file = await jobs.openOutput("job-1");
    expect(Buffer.from((await file?.read(2, 3)) ?? []).toString()).toBe("234");
    for (const id of ["job-2", "job-", "1", "job-1 ", "xjob-1", "job-../1"])
      expect(await jobs.openOutput(id)).toBeUndefined();
  });
});

describe("closing", () => {
  test("stops running jobs except detached ones, and starts no more", async () => {
    const { jobs, backend, folder, start, events } = await manager();
    const [one, deaf] = [
      await start("exec sleep 1000"),
      await start("trap '' TERM; echo $$ >deaf.pid; while :; do sleep 0.1; done"),
    ];
    await until("it is deaf", () => existsSync(join(folder, "deaf.pid")));
    const detached = await start("exec sleep 1000", "main", { lifetime: "detached", label: "sleep" });
    await jobs.close();
    for (const job of [one, deaf]) expect(await isAlive(Number(job.process.id))).toBe(false);
    const [found] = (await backend.detached?.list()) ?? [];
    expect(found).toMatchObject({ id: detached.id, label: "sleep", ended: undefined });
    await expect(start("true")).rejects.toThrow("the toolkit is closed: no job can be started any more");
    expect((await events()).flatMap((event) => (event.type === "job.ended" ? [event.job] : [])).toSorted()).toEqual([
      "1",
      "2",
    ]);
    await found?.process.kill();
    await expect(one.process.output.read(0, 1)).rejects.toThrow("this output is gone");
  });

  test("stops jobs that are still starting", async () => {
    const { jobs, start } = await manager();
    const starting = Promise.allSettled([start("exec sleep 1000"), start("exec sleep 1000")]);
    await jobs.close();
    for (const outcome of await starting) {
      if (outcome.status === "fulfilled") expect((await outcome.value.process.exit).how).toBe("signaled");
      else expect(String(outcome.reason)).toContain("closed");
    }
  });
});

describe("a running process", () => {
  const spawned = (backend: Backend, script: string) =>
    backend.spawn({ argv: ["bash", "-c", script], streams: "split" });
  const by = { call: "one", thread: "main", startedMs: 1_000 };

  test("becomes a job, with its start, its end and both outputs", async () => {
    const { jobs, backend, events } = await manager();
    const job = await jobs.adopt(await spawned(backend, "echo out; echo err >&2; exit 4"), "the script", by);
    expect(job).toMatchObject({ id: "1", command: "the script", lifetime: "toolkit", startedMs: 1_000 });
    await job.process.exit;
    await until("its end is noted", () => job.ended !== undefined);
    expect((await events()).map(({ type }) => type)).toEqual(["job.started", "job.ended"]);
    expect(jobs.notices.take("main")).toEqual([
      expect.stringMatching(
        /^Job 1 has ended: the script\. Exit code 4 after .* s, 4B of output in output:\/\/job-1 and 4B of errors in output:\/\/job-1-errors$/,
      ),
    ]);
    for (const [id, text] of [
      ["job-1", "out\n"],
      ["job-1-errors", "err\n"],
    ] as const) {
      const file = await jobs.openOutput(id);
      expect(Buffer.from((await file?.read(0, 99)) ?? []).toString()).toBe(text);
    }
    expect(await jobs.openOutput("job-2-errors")).toBeUndefined();
  });

  test("is not changed when it cannot become a job, and else ends with the jobs", async () => {
    const once = await manager({ lifetime: "call" });
    const process = await spawned(once.backend, "exec sleep 1000");
    await expect(once.jobs.adopt(process, "x", by)).rejects.toThrow("this process ends with the one call");
    expect(await isAlive(Number(process.id))).toBe(true);
    const { jobs, backend } = await manager();
    const kept = await jobs.adopt(await spawned(backend, "exec sleep 1000"), "x", by);
    await jobs.close();
    expect(await isAlive(Number(kept.process.id))).toBe(false);
    await expect(jobs.adopt(process, "x", by)).rejects.toThrow("the toolkit is closed");
  });

  test("counts as a running job", async () => {
    const { jobs, backend, start } = await manager();
    for (let count = 0; count < 31; count++) await start("exec sleep 1000");
    await jobs.adopt(await spawned(backend, "exec sleep 1000"), "x", by);
    await expect(jobs.adopt(await spawned(backend, "exec sleep 1000"), "x", by)).rejects.toThrow("32 jobs are running");
  });
});
