// Workers that run in this process: real PostgreSQL and Redis, and toolkits with the source's modules.
import { onTestFinished } from "vitest";
import { postgresStore } from "../../src/record/activity/postgres-store.ts";
import { createToolkit } from "../../src/app/toolkit.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { randomName } from "../../src/core/util/identifier.ts";
import { takeFromQueue } from "../../src/team/queue.ts";
import { createClaims, startWorker } from "../../src/team/worker.ts";
import type { PostgresServer } from "./postgres.ts";
import type { RedisServer } from "./redis.ts";
import { temporaryFolder } from "./workspace.ts";

export interface Servers {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
}

/** What a worker has of its own. */
export interface WorkerPlace extends ToolkitOptions {
  /** How many calls it makes at once. Default 4. */
  readonly concurrency?: number;
}

/** Starts a worker of this name, as `handrail worker` does. Resolves to its id, and what ends it. */
export async function workerHere(
  { redis }: Pick<Servers, "redis">,
  url: string,
  name: string,
  { concurrency = 4, ...options }: WorkerPlace = {},
) {
  const claims = createClaims();
  const id = randomName(4);
  const toolkit = await createToolkit({
    ...(options.tools === undefined && { preset: "all" }),
    ...{ policy: { autonomy: "full" }, stateDir: temporaryFolder(), ...options },
    ...{ store: postgresStore({ url }), beforeAct: claims.beforeAct, grants: "once" },
    ...{ outputOwner: "worker", workerId: id },
  });
  const onError = (message: string) => console.error(`worker ${id}: ${message}`);
  const worker = await startWorker(toolkit, claims, {
    ...{ name, id, concurrency, maxWaiting: 200, toolLimits: {}, onError },
    queue: (work) => takeFromQueue(redis.url, { name, concurrency, work, onError }),
  });
  return {
    id,
    toolkit,
    async close() {
      await worker.close();
      await toolkit.close();
    },
  };
}

/** Starts two workers of a new name in one folder. Returns the options of a caller. They end with the test. */
export async function twoWorkers(servers: Servers, database: string, place: WorkerPlace): Promise<ToolkitOptions> {
  const url = await servers.postgres.create(database);
  const name = `team-${randomName(6)}`;
  const workers = await Promise.all([1, 2].map(() => workerHere(servers, url, name, place)));
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.close()))));
  return { target: `worker:${name}`, store: postgresStore({ url }), queue: servers.redis.url };
}
