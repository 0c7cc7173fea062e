/**
 * Calls on workers of this machine, over a PostgreSQL server (which syncs each commit) and a Redis server of their own: one
 * after the other, beside a bare BullMQ job that does nothing and beside the same call made here; an event from a worker
 * to the caller; and calls side by side on 1, 2, 4 and 8 workers. Left out where a server is not installed.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Queue, QueueEvents, Worker } from "bullmq";
import { createToolkit, postgresStore } from "handrail";
import { Redis } from "ioredis";
import { POSTGRES, PROGRAM, server } from "./postgres.mjs";

const CALLS = 50;
const SIDE_BY_SIDE = 16;
const CALL = { name: "ls", input: {} };

/** @type {readonly import("./shared.mjs").Workload[]} */
export const WORKERS =
  POSTGRES.length === 0
    ? []
    : [
        {
          name: "workers-call",
          what: "a call on a worker; ceiling a bare BullMQ job, peer the call here",
          unit: "ms",
          scale: 1 / CALLS,
          rounds: 5,
          target: { text: "", met: () => true },
          async prepare(folder) {
            const { url, redis, toolkit, end } = await workers(join(folder, "workers-call"), 1);
            const local = await createToolkit({ preset: "all", store: postgresStore({ url }), stateDir: folder });
            /** @type {Redis[]} */
            const open = [];
            const connection = () => {
              const made = new Redis(redis, { maxRetriesPerRequest: null });
              open.push(made.on("error", () => {}));
              return made;
            };
            const queue = new Queue("bare", { connection: connection() });
            const events = new QueueEvents("bare", { connection: connection() });
            const worker = new Worker("bare", async () => "", { connection: connection() });
            await events.waitUntilReady();
            const one = (/** @type {import("handrail").Toolkit} */ by) => async () => {
              for (let number = 0; number < CALLS; number++) await by.call(CALL);
            };
            return {
              ours: one(toolkit),
              peer: one(local),
              async ceiling() {
                for (let number = 0; number < CALLS; number++)
                  await (await queue.add("job", {}, { removeOnComplete: 1_000 })).waitUntilFinished(events);
              },
              async cleanUp() {
                await Promise.all([worker.close(true), events.close(), queue.close(), local.close()]);
                for (const each of open) each.disconnect();
                await end();
              },
            };
          },
        },
        {
          name: "workers-event",
          what: "an event from a worker to the caller (the worker's clock to ours)",
          unit: "ms",
          rounds: 5,
          target: { text: "", met: () => true },
          async prepare(folder) {
            const { toolkit, end } = await workers(join(folder, "workers-event"), 1);
            return {
              measuresItself: true,
              async ours() {
                /** @type {number[]} */
                const times = [];
                for (let number = 0; number < CALLS; number++)
                  await toolkit.call(CALL, {
                    onEvent: (event) => void (event.type === "call.finished" && times.push(Date.now() - event.at)),
                  });
                return times.toSorted((one, other) => one - other)[CALLS / 2] ?? 0;
              },
              cleanUp: end,
            };
          },
        },
        ...[1, 2, 4, 8].map((count) => ({
          name: `workers-${count}`,
          what: `a call of ${SIDE_BY_SIDE} side by side, on ${count} worker${count > 1 ? "s" : ""}`,
          unit: "ms",
          scale: 1 / (4 * CALLS),
          rounds: 5,
          target: { text: "", met: () => true },
          async prepare(folder) {
            const { toolkit, end } = await workers(join(folder, `workers-${count}`), count);
            return {
              async ours() {
                let left = 4 * CALLS;
                const next = async (/** @type {unknown} */ _, /** @type {number} */ thread) => {
                  while (left-- > 0) await toolkit.call({ ...CALL, thread: `thread ${thread}` });
                };
                await Promise.all(Array.from({ length: SIDE_BY_SIDE }, next));
              },
              cleanUp: end,
            };
          },
        })),
      ];

/**
 * Starts the servers and this many workers, and opens a toolkit whose calls they make.
 *
 * @param {string} folder
 * @param {number} count
 */
export async function workers(folder, count) {
  const { url, pid, end } = await server(folder);
  const port = 20_000 + (process.pid % 20_000);
  const queue = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", "--save", ""], {
    stdio: "ignore",
  });
  const redis = `redis://127.0.0.1:${port}`;
  const home = mkdtempSync(`${folder}-home-`);
  mkdirSync(join(home, "handrail"));
  mkdirSync(join(home, "work"));
  writeFileSync(join(home, "handrail", "config.yaml"), `store: ${url}\nqueue: ${redis}\nundo: off\n`);
  const env = { ...process.env, XDG_CONFIG_HOME: home, XDG_STATE_HOME: home };
  const started = await Promise.all(
    Array.from({ length: count }, async () => {
      const args = ["worker", "--name", "bench", "--concurrency", "8", "--work-dir", join(home, "work")];
      const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
      await new Promise((resolve) => child.stdout?.once("data", resolve));
      return child;
    }),
  );
  const toolkit = await createToolkit({
    ...{ target: "worker:bench", preset: "all", store: postgresStore({ url }), queue: redis, stateDir: home },
  });
  return {
    url,
    redis,
    toolkit,
    pids: { postgres: pid, redis: queue.pid ?? 0, worker: started[0]?.pid ?? 0 },
    async end() {
      await toolkit.close();
      for (const child of started) child.kill("SIGKILL");
      queue.kill("SIGKILL");
      end();
    },
  };
}
