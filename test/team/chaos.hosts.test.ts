// Calls on workers while everything is killed: none is lost, none runs twice, each has one end. Small by default;
// CHAOS_CALLS=2000 CHAOS_KILLS=50 is the whole of it.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Running, commandLine } from "../cli/program.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { proxyTo } from "../support/proxy.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

const CALLS = Number(process.env["CHAOS_CALLS"] ?? 60);
const KILLS = Number(process.env["CHAOS_KILLS"] ?? 5);
/** How long the test may take, and how long a stalled connection stalls. Milliseconds. */
const LIMIT_MS = 60_000 + 60 * CALLS + 8_000 * KILLS;
const STALL_MS = 8_000;
const CALLER = fileURLToPath(new URL("../fixtures/worker-caller.mjs", import.meta.url));

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

describe.skipIf(problem !== undefined)("calls on workers while all are killed", { timeout: LIMIT_MS }, async () => {
  if (problem !== undefined) return;
  const [postgres, redis] = [await postgresServer(), await redisServer()];

  test("none is lost, none runs twice, and each has one end", async () => {
    const url = await postgres.create("chaos");
    const proxy = await proxyTo(postgres.port);
    const stalled = url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
    const state = temporaryFolder();
    const folders: string[] = [];
    const killed: { [what: string]: number } = {};
    const count = (what: string) => (killed[what] = (killed[what] ?? 0) + 1);
    let isOver = false;

    /** Workers, each begun again when it was killed. The last one reaches the database through the proxy. */
    const workers: Running[] = [];
    const starts = await Promise.all(
      [url, url, stalled].map(async (store, index) => {
        const line = await commandLine();
        folders.push(line.folder);
        mkdirSync(join(line.configHome, "handrail"), { recursive: true });
        const settings = `store: ${store}\nqueue: ${redis.url}\nundo: off\npolicy: { autonomy: full, sandbox: off }\n`;
        writeFileSync(join(line.configHome, "handrail", "config.yaml"), settings);
        return async () => {
          while (!isOver) {
            const running = line.start(["worker", "--name", "build", "--concurrency", "4"]);
            workers[index] = running;
            await running.ended;
          }
        };
      }),
    );
    const working = starts.map((start) => start());
    onTestFinished(async () => {
      isOver = true;
      for (const running of workers) running.kill("SIGKILL");
      await Promise.all(working);
    });
    await until("a worker has reported", () => workers.every((each) => each.stdout().includes("makes calls")), 60_000);

    /** Two callers, each begun again until it has made its calls. */
    const callers: ChildProcess[] = [];
    const calling = [0, 1].map(async (index) => {
      const range = [Math.floor((CALLS * index) / 2), Math.floor((CALLS * (index + 1)) / 2)].map(String);
      for (let code: number | null = 1; code !== 0 && !isOver;) {
        const caller = spawn(process.execPath, [CALLER, url, redis.url, state, ...range], { stdio: "ignore" });
        callers[index] = caller;
        code = await new Promise((resolve) => caller.once("exit", resolve));
      }
    });

    const ended = async () => {
      try {
        const client = await postgres.connect(url);
        const { rows } = await client.query<{ count: string }>(
          "SELECT count(*) AS count FROM handrail.events WHERE type = 'call.finished'",
        );
        await client.end();
        return Number(rows[0]?.count);
      } catch {
        return -1; // the server was just killed
      }
    };
    const kills = [
      async () => workers[count("worker") % 3]?.kill("SIGKILL"),
      async () => callers[count("caller") % 2]?.kill("SIGKILL"),
      async () => {
        count("Redis");
        await redis.crash();
        await redis.start();
      },
      async () => {
        count("PostgreSQL");
        await postgres.crash();
        await postgres.start();
      },
      async () => {
        count("stall");
        await proxy.stall(STALL_MS);
      },
    ];
    for (let number = 0; number < KILLS; number++) {
      const share = (CALLS * (number + 0.5)) / KILLS;
      await until(
        "calls have ended",
        async () => (await ended()) >= Math.min(share, CALLS - 1) || callers.every(({ exitCode }) => exitCode === 0),
        LIMIT_MS,
      );
      await kills[number % kills.length]?.();
    }
    await Promise.all(calling);
    await until("every call has an end", async () => (await ended()) >= CALLS, 60_000);

    const client = await postgres.connect(url);
    const { rows } = await client.query<{ call: string; type: string; body: string }>(
      "SELECT call, type, body FROM handrail.events WHERE type IN ('call.started', 'call.finished') ORDER BY id",
    );
    const runs = folders
      .flatMap((folder) => (existsSync(join(folder, "runs")) ? [readFileSync(join(folder, "runs"), "utf8")] : []))
      .flatMap((text) => text.split("\n").filter((line) => line !== ""));
    const statuses: { [status: string]: number } = {};
    const wrong: string[] = [];
    for (let number = 0; number < CALLS; number++) {
      const own = rows.filter(({ call }) => call === `c-${number}`);
      const ends = own.filter(({ type }) => type === "call.finished");
      const ran = runs.filter((run) => run === String(number)).length;
      const { status = "none" } = JSON.parse(ends[0]?.body ?? "{}") as { status?: string };
      statuses[status] = (statuses[status] ?? 0) + 1;
      const isRight = own.length === 2 && ends.length === 1 && ran <= 1 && (status !== "ok" || ran === 1);
      if (!isRight) wrong.push(`c-${number}: ${own.length - ends.length} starts, ${ends.length} ends, ${ran} runs`);
    }
    console.log(JSON.stringify({ calls: CALLS, statuses, runs: runs.length, killed }));
    expect(wrong).toEqual([]);
    expect(statuses["ok"]).toBeGreaterThan(CALLS / 2);
    const { rows: left } = await client.query("SELECT call FROM handrail.parked_calls");
    expect(left).toEqual([]);
  });
});
