/**
 * Two workers of one name make the calls of one caller: each call runs at most once, on the worker that has room. Here
 * they are processes of this machine that share a SQLite file; on several machines they share a PostgreSQL server.
 *
 * Run: node examples/20-two-workers.mjs
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { asText, createToolkit, sqliteStore } from "handrail";

const handrail = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "handrail-example-"));
const stateDir = join(folder, "state", "handrail");
const workDir = join(folder, "work");
await mkdir(workDir);
await mkdir(stateDir, { recursive: true, mode: 0o700 });

const env = { ...process.env, XDG_STATE_HOME: join(folder, "state"), XDG_CONFIG_HOME: join(folder, "config") };
async function startWorker() {
  const args = ["worker", "--name", "build", "--work-dir", workDir, "--concurrency", "1", "--autonomy", "full"];
  const worker = spawn(process.execPath, [handrail, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  await once(worker.stdout, "data"); // it reports when it takes calls
  return worker;
}
const workers = await Promise.all([startWorker(), startWorker()]);

const toolkit = await createToolkit({
  ...{ preset: "coding", target: "worker:build", stateDir: join(folder, "caller") },
  store: sqliteStore({ file: join(stateDir, "handrail.db") }),
  policy: { autonomy: "full" },
});
const both = await Promise.all(
  ["a", "b"].map((name) => toolkit.call({ name: "bash", input: { command: `echo ${name} >> log.txt; sleep 1` } })),
);
assert.deepEqual(
  both.map(({ status }) => status),
  ["ok", "ok"],
);
const log = asText(await toolkit.call({ name: "read", input: { path: "log.txt" } }));
assert.deepEqual(log.trim().split("\n").toSorted(), ["a", "b"]);

// The record says who made them: two workers at the same time, since each has room for one call.
const makers = new Set();
for await (const event of toolkit.store.events({ types: ["call.taken"] })) {
  if (event.type === "call.taken") makers.add(event.worker);
}
assert.equal(makers.size, 2);
console.log(`${log.trim()}\n${makers.size} workers`);

await toolkit.close();
for (const worker of workers) worker.kill("SIGTERM");
await Promise.all(workers.map(async (worker) => worker.exitCode ?? (await once(worker, "exit"))));
await rm(folder, { recursive: true });
