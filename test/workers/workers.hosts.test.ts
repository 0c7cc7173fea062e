// Calls that workers make: real workers (the built program), PostgreSQL and Redis. Each has a state folder of its own.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { postgresStore } from "../../src/activity/postgres-store.ts";
import type { CallEvent } from "../../src/contract/activity.ts";
import type { Toolkit } from "../../src/contract/toolkit.ts";
import { asText } from "../../src/engine/result.ts";
import { createToolkit } from "../../src/toolkit.ts";
import type { ToolkitOptions } from "../../src/toolkit-options.ts";
import { type CommandLine, type Running, commandLine } from "../cli/program.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

describe.skipIf(problem !== undefined)("calls on workers", { timeout: 120_000 }, async () => {
  if (problem !== undefined) return;
  const [postgres, redis] = [await postgresServer(), await redisServer()];

  /** A machine with a worker, which has reported. */
  async function worker(url: string, args: readonly string[] = [], settings = "policy: { autonomy: full }\n") {
    const line: CommandLine = await commandLine();
    mkdirSync(join(line.configHome, "handrail"), { recursive: true });
    writeFileSync(
      join(line.configHome, "handrail", "config.yaml"),
      `store: ${url}\nqueue: ${redis.url}\nundo: off\n${settings}`,
    );
    const running: Running = line.start(["worker", "--name", "build", ...args]);
    onTestFinished(async () => {
      running.kill("SIGTERM");
      await running.ended;
    });
    await until("the worker has reported", () => running.stdout().includes("makes calls") || running.stderr() !== "");
    expect(running.stderr()).toBe("");
    const [, id = ""] = /\((\w+)\)/.exec(running.stdout()) ?? [];
    return { ...line, id, running };
  }

  async function caller(url: string, options: ToolkitOptions = {}): Promise<Toolkit> {
    const toolkit = await createToolkit({
      ...{ target: "worker:build", store: postgresStore({ url }), queue: redis.url, stateDir: temporaryFolder() },
      ...{ policy: { autonomy: "full" }, preset: "all", ...options },
    });
    onTestFinished(() => toolkit.close());
    return toolkit;
  }

  test("files, commands and saved outputs of a call are those of the worker", async () => {
    const url = await postgres.create("simple");
    const { folder } = await worker(url);
    const toolkit = await caller(url);
    expect(toolkit.backend.workDir).toBe(folder);
    const events: CallEvent[] = [];
    const call = (name: string, input: object) =>
      toolkit.call({ name, input }, { onEvent: (event) => events.push(event) });
    expect(asText(await call("read", { path: "README.md" }))).toContain("# Read me");
    expect(asText(await call("write", { path: "made.txt", content: "made\n" }))).toContain("made.txt");
    expect(readFileSync(join(folder, "made.txt"), "utf8")).toBe("made\n");
    expect(asText(await call("bash", { command: "pwd; seq 20000" }))).toContain("Full output saved to: output://");
    const [, output] = /output:\/\/(\w+)/.exec(asText(await call("bash", { command: "seq 20000" }))) ?? [];
    expect(asText(await call("grep", { path: `output://${output}`, pattern: "^777$" }))).toContain("777");
    expect(events.map(({ type }) => type)).toContain("call.taken");
    expect(asText(await call("time", {}))).toMatch(/\d{4}/);
  });
});
