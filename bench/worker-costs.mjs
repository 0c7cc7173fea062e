/**
 * Measures what calls on workers cost the servers, for bench/simulate-workers.mjs: CPU milliseconds, commits and syncs,
 * which depend less on how busy the machine is than times do. Needs PostgreSQL and Redis.
 *
 * In:  dist (built); the number of calls as an argument (default 150).
 * Out: one JSON object on stdout.
 */
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { workers } from "./workloads/workers.mjs";

const CALLS = Number(process.argv[2] ?? 150);
const TICK_MS = 10;
const IDLE_MS = 15_000;
const [LISTENERS, NOTIFICATIONS, REPORTS, READS] = [60, 1_000, 1_000, 20];

const folder = mkdtempSync(join(tmpdir(), "handrail-costs-"));
chmodSync(folder, 0o755); // the server runs as another user
const { url, toolkit, pids, end } = await workers(join(folder, "servers"), 1);
const clients = await Promise.all(
  Array.from({ length: LISTENERS + 1 }, async () => {
    const client = new pg.Client(url);
    await client.connect();
    return client;
  }),
);
const [client, ...listeners] = clients;
try {
  await Promise.all(Array.from({ length: 20 }, call)); // prepares statements, warms caches
  const busy = await during(async () => {
    for (let number = 0; number < CALLS; number++) await call(undefined, number);
  });
  const idle = await during(() => delay(IDLE_MS));
  const alone = await during(notify);
  for (const each of listeners) await each.query("LISTEN other");
  const fan = await during(notify);
  await client?.query(
    `INSERT INTO handrail.workers SELECT 'w' || number, 'other', 0, body
     FROM handrail.workers, generate_series(1, ${REPORTS}) AS number`,
  );
  const crowded = await during(async () => {
    for (let number = 0; number < READS; number++)
      await client?.query("SELECT body, beat_at FROM handrail.workers WHERE name = 'other'");
  });
  const perSecond = (/** @type {number} */ value) => value / (idle.ms / 1_000);
  const perCall = (/** @type {keyof typeof busy} */ what) => (busy[what] - (idle[what] * busy.ms) / idle.ms) / CALLS;
  process.stdout.write(
    `${JSON.stringify({
      call: { postgresMs: perCall("postgres"), redisMs: perCall("redis"), commits: perCall("commits") },
      workerASecond: {
        ...{ postgresMs: perSecond(idle.postgres), redisMs: perSecond(idle.redis) },
        ...{ commits: perSecond(idle.commits), syncs: perSecond(idle.syncs) },
      },
      /** Of another channel: only callers, and the worker that is meant, are sent anything. */
      listenerMs: (fan.postgres - alone.postgres) / NOTIFICATIONS / LISTENERS,
      reportReadMs: crowded.postgres / READS / REPORTS,
      busyMs: busy.ms / CALLS,
    })}\n`,
  );
} finally {
  for (const each of clients) await each.end();
  await end();
  rmSync(folder, { recursive: true, force: true });
}

async function call(/** @type {unknown} */ _, /** @type {number} */ number) {
  const result = await toolkit.call({ name: "ls", input: {}, thread: `thread ${number % 16}` });
  if (result.status !== "ok") throw new Error(JSON.stringify(result));
}

async function notify() {
  for (let number = 0; number < NOTIFICATIONS; number++) await client?.query("SELECT pg_notify('fan', 'x')");
}

/** @param {() => Promise<unknown>} work */
async function during(work) {
  const before = await spent();
  await work();
  await delay(1_200); // the server's own counts come a second late
  const after = await spent();
  const names = /** @type {(keyof typeof after)[]} */ (Object.keys(after));
  return /** @type {typeof after} */ (Object.fromEntries(names.map((name) => [name, after[name] - before[name]])));
}

async function spent() {
  const rows = await client?.query(
    `SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
       (SELECT wal_sync FROM pg_stat_wal)::float8 AS syncs`,
  );
  return {
    ...{ postgres: cpuMs(pids.postgres), redis: cpuMs(pids.redis), worker: cpuMs(pids.worker) },
    caller: process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000,
    .../** @type {{ commits: number, syncs: number }} */ (rows?.rows[0]),
    ms: performance.now(),
  };
}

/** The CPU time of a process, of its children and of those that have ended. @param {number} pid */
function cpuMs(pid) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const stats = all.flatMap((name) => {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")
        .map(Number);
      const isChild = fields[1] === pid;
      const own = (fields[11] ?? 0) + (fields[12] ?? 0);
      if (Number(name) === pid) return [own + (fields[13] ?? 0) + (fields[14] ?? 0)];
      return isChild ? [own] : [];
    } catch {
      return [];
    }
  });
  return TICK_MS * stats.reduce((sum, each) => sum + each, 0);
}
