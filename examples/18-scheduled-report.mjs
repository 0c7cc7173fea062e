/**
 * A report that writes itself: a schedule, which a person approves once, and a process that makes its runs. This is what
 * the commands `handrail cron add`, `runner` and `log` do; use them at a shell.
 *
 * Run: node examples/18-scheduled-report.mjs
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const handrail = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "handrail-example-"));
const project = join(folder, "project");
await mkdir(join(project, "orders"), { recursive: true });
await writeFile(join(project, "orders", "1.txt"), "12.50\n");
await writeFile(join(project, "orders", "2.txt"), "7.50\n");

const options = {
  cwd: project,
  env: { ...process.env, XDG_STATE_HOME: join(folder, "state"), XDG_CONFIG_HOME: join(folder, "config") },
};
/** @param {string[]} args */
const run = async (...args) => (await promisify(execFile)(process.execPath, [handrail, ...args], options)).stdout;

// --yes is the person who approves exactly this command. Without it, the question shows the next three runs.
const report = "cat orders/*.txt | awk '{ sum += $1 } END { print NR, \"orders,\", sum }' > report.txt";
await run("cron", "add", report, "--every", "1", "--name", "report", "--yes");

const runner = spawn(process.execPath, [handrail, "cron", "runner"], options);
let text = "";
for (const end = Date.now() + 60_000; text === "" && Date.now() < end;) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  text = await readFile(join(project, "report.txt"), "utf8").catch(() => "");
}
assert.equal(text, "2 orders, 20\n");

runner.kill("SIGINT");
await once(runner, "exit");
const log = await run("cron", "log");
assert.match(log, /report/);
console.log(`${text}${log}`);
await rm(folder, { recursive: true });
