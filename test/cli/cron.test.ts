import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Run, Schedule } from "../../src/core/contract/schedule.ts";
import { loadEngine } from "../../src/record/db/driver.ts";
import { until } from "../support/until.ts";
import { type CommandLine, commandLine } from "./program.ts";

async function schedules(line: CommandLine): Promise<readonly Schedule[]> {
  return JSON.parse((await line.here(["cron", "list", "--json"])).stdout) as readonly Schedule[];
}

async function runsOf(line: CommandLine, id: string): Promise<readonly Run[]> {
  const { stdout } = await line.here(["cron", "log", id, "--json"]);
  return stdout.split("\n").flatMap((each) => (each === "" ? [] : [JSON.parse(each) as Run]));
}

async function add(line: CommandLine, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await line.here(["cron", "add", ...args, "--yes"]);
  expect(code, stderr).toBe(0);
  return /^Scheduled job (\w+)/.exec(stdout)?.[1] ?? "";
}

test("schedules are added, listed, paused, resumed, run now and removed on the command line", async () => {
  const line = await commandLine();
  const id = await add(line, "echo hello", "--cron", "0 0 1 1 *", "--tz", "Europe/Berlin", "--name", "year");
  const { stdout, stderr } = await line.here(["cron"]);
  expect(stdout).toContain(`${id}  year  At 00:00, on day 1 of the month, only in January (Europe/Berlin)  next `);
  expect(stdout).toMatch(/ next \d{4}-01-01 00:00:00 \(Europe\/Berlin\) /);
  expect(stderr).toContain("No process runs schedules in this folder now");
  expect((await line.here(["cron", "pause", id])).stdout).toBe(`Paused job ${id} "year"\n`);
  expect(await schedules(line)).toMatchObject([{ id, paused: "by a person" }]);
  expect((await line.here(["cron", "resume", id])).code).toBe(0);
  const run = await line.here(["cron", "run", id]);
  expect(run).toMatchObject({ code: 0, stdout: 'Schedule "year", run 1: succeeded: hello.\n' });
  expect((await line.here(["cron", "log"])).stdout).toMatch(/^\d{4}-.*"year", run 1: succeeded: hello\.\n$/);
  expect((await line.here(["cron", "remove", id])).code).toBe(0);
  expect(await schedules(line)).toEqual([]);
  expect(await line.here(["cron", "remove", id])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`there is no scheduled job "${id}"`),
  });
  const failing = await add(line, "exit 3", "--every", "3600");
  expect(await line.here(["cron", "run", failing])).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("failed"),
  });
});

test("without approval nothing is added", async () => {
  const line = await commandLine();
  const { code, stderr } = await line.here(["cron", "add", "echo hello", "--every", "60"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining("requires approval")]);
  expect(await schedules(line)).toEqual([]);
});

test(
  "of three runners one makes each run; one is killed, and its run is not repeated",
  { timeout: 120_000 },
  async () => {
    const line = await commandLine();
    const quick = await add(line, "echo ran >>quick", "--every", "1");
    const slow = await add(line, "echo ran >>slow; sleep 60", "--every", "2", "--max-seconds", "90");
    const runners = [0, 1, 2].map(() => line.start(["cron", "runner"]));
    const open = await loadEngine();
    const database = join(line.stateHome, "handrail/schedule.db");
    const runnerOf = (id: string): number | undefined => {
      const connection = open(database);
      const [row] = connection.all<{ process: string }>(
        "SELECT process FROM runs WHERE schedule = ? AND state = 'running'",
        [id],
      );
      connection.close();
      return row && (JSON.parse(row.process) as { readonly pid: number }).pid;
    };
    await until("a runner makes the slow run", () => existsSync(join(line.folder, "slow")), 60_000);
    const killed = runners.find(({ pid }) => pid === runnerOf(slow));
    killed?.kill("SIGKILL");
    await killed?.ended;
    const before = (await runsOf(line, quick)).length;
    await until(
      "the others make runs",
      async () => (await runsOf(line, quick)).filter(({ state }) => state === "succeeded").length > before + 4,
      60_000,
    );
    for (const runner of runners) runner.kill("SIGTERM");
    await Promise.all(runners.map(({ ended }) => ended));
    const [ofQuick, ofSlow] = [await runsOf(line, quick), await runsOf(line, slow)];
    const planned = ofQuick.map(({ plannedMs }) => plannedMs);
    expect(planned).toHaveLength(new Set(planned).size);
    const lines = readFileSync(join(line.folder, "quick"), "utf8").split("\n").length - 1;
    const count = (state: string) => ofQuick.filter((run) => run.state === state).length;
    expect(lines).toBeGreaterThanOrEqual(count("succeeded"));
    expect(lines).toBeLessThanOrEqual(count("succeeded") + count("interrupted"));
    expect(ofSlow.at(-1)).toMatchObject({ state: "interrupted", note: expect.stringContaining("its process ended") });
    expect((await line.here(["jobs"])).stdout).not.toContain("sleep");
  },
);
