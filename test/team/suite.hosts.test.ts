// The backend suite with two workers, real Redis and PostgreSQL.
import { afterAll, describe, test } from "vitest";
import { postgresStore } from "../../src/record/activity/postgres-store.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import { endings } from "../suites/backend/endings.ts";
import { finding } from "../suites/backend/finding.ts";
import { listing } from "../suites/backend/listing.ts";
import { looking } from "../suites/backend/looking.ts";
import { names } from "../suites/backend/names.ts";
import { outputLogs } from "../suites/backend/output-logs.ts";
import { paths } from "../suites/backend/paths.ts";
import { reading } from "../suites/backend/reading.ts";
import { realPaths } from "../suites/backend/real-paths.ts";
import { removing } from "../suites/backend/removing.ts";
import { searching } from "../suites/backend/searching.ts";
import { starting } from "../suites/backend/starting.ts";
import { stopping } from "../suites/backend/stopping.ts";
import { streams } from "../suites/backend/streams.ts";
import { writing } from "../suites/backend/writing.ts";
import { registerSuite } from "../suites/suite.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { workerHere } from "../support/workers.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { backendOfCalls, reach } from "./backend-of-calls.ts";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

const REAL = "the engine follows the links of a path before a tool has it, on every target";
const POLICY = "the policy refuses a command that chooses a program by a variable";
const STOPPED = "a call is stopped as a whole: its process is reported as aborted";
const ARGUMENT = "a function or an open file cannot be the argument of a call";

/**
 * What a call cannot show of a backend. Left out as well: stdin, processes that outlive their call, and closing. Jobs
 * of workers have tests of their own.
 */
const DIFFERENT: { readonly [title: string]: string } = {
  "a missing path, a folder and a path below a file fail with the path as written": REAL,
  "a FIFO or a device is refused at once, never waited for or emptied, through a link too": REAL,
  "with `real`, a link on the path is a failure without effect": REAL,
  "a path that is not a folder, or is missing, is a failure that names it": REAL,
  "a file is removed, a link without its target, and a folder with its content": REAL,
  "a link is not followed": REAL,
  "an editor that a command opens ends at once with a sentence, unless the command chose it": POLICY,
  "a killed process is reported as signaled": STOPPED,
  "TERM comes first, so that a process can clean up; its output until then is kept": STOPPED,
  "KILL comes after the grace period, for a process that ignores TERM": STOPPED,
  "killing twice, in parallel or after the end, is the same as once": STOPPED,
  "the first reason to stop is the one that is reported": STOPPED,
  "ending one does not affect the others": "a call has no stdin",
  "files are judged: shown, counted or skipped": ARGUMENT,
  "an open file is searched instead of files, under the given name": ARGUMENT,
  "only the requested kinds are returned, and of them the picked ones": ARGUMENT,
};

describe.skipIf(problem !== undefined)("a target of two workers", { timeout: 120_000 }, async () => {
  if (problem !== undefined) return;
  const servers = { postgres: await postgresServer(), redis: await redisServer() };
  const ending: (() => Promise<void>)[] = [];
  let workers: Promise<string> | undefined;
  const policy = { autonomy: "full", forbiddenPaths: [], allowedRoots: ["/"] } as const;

  const start = async () => {
    const url = await servers.postgres.create("suite");
    const place = { tools: [reach], policy, sandbox: "off", mask: false, workDir: temporaryFolder() } as const;
    for (const _ of [1, 2]) {
      const worker = await workerHere(servers, url, "build", { ...place, concurrency: 8 });
      ending.push(() => worker.close());
    }
    return url;
  };

  registerSuite(
    {
      name: "worker:build",
      groups: [
        ["paths", paths],
        ["real paths", realPaths],
        ["looking at files", looking],
        ["reading", reading],
        ["writing", writing],
        ["names", names],
        ["listing", listing],
        ["removing", removing],
        ["starting processes", starting],
        ["how processes end", endings],
        ["what they write", streams],
        ["output logs", outputLogs],
        ["stopping", stopping],
        ["searching with rg", searching],
        ["walking with find", finding],
      ],
      differences: { signals: "name", ids: "process" },
      skip: DIFFERENT,
      async open() {
        const url = await (workers ??= start());
        const toolkit = await createToolkit({
          ...{ target: "worker:build", store: postgresStore({ url }), queue: servers.redis.url, mask: false, policy },
          ...{ tools: [reach], stateDir: temporaryFolder(), approver: async () => ({ answer: "once" as const }) },
        });
        return backendOfCalls(toolkit, temporaryFolder());
      },
    },
    {
      describe,
      test,
      afterAll(body) {
        afterAll(async () => {
          await body();
          for (const end of ending) await end();
        });
      },
    },
  );
});
