/**
 * A command in the background: it is started, watched, written to, and its end is told with the next result.
 *
 * Run: node examples/04-background-job.mjs
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asText, bash, createToolkit, jobs, time } from "handrail";

const scratch = await mkdtemp(join(tmpdir(), "handrail-example-"));
const toolkit = await createToolkit({
  tools: [bash(), jobs(), time()],
  workDir: scratch,
  stateDir: join(scratch, "state"),
  approver: async () => ({ answer: "once" }), // a person's yes; here everything is approved
});
/** @param {string} name @param {object} input */
const call = async (name, input) => asText(await toolkit.call({ name, input }));

// A shell that greets whoever it is told about. The call returns at once.
const script = 'echo ready; while read -r name; do echo "Hello, $name!"; done';
assert.match(await call("bash", { command: script, background: true }), /^Job 1 was started/);

// follow waits until there is something new.
assert.match(await call("jobs", { action: "output", id: "1", follow: true }), /^ready\n\[Job 1: running/);

// What is written to a job is judged like a command.
await call("jobs", { action: "write", id: "1", text: "Ada\n" });
assert.match(await call("jobs", { action: "output", id: "1", follow: true }), /^Hello, Ada!\n/);

// It ends when its input ends; the next result tells the model.
await call("jobs", { action: "write", id: "1", end: true });
const [job] = await toolkit.jobs.list();
await job?.process.exit;
const next = await call("time", { format: "iso" });
assert.match(next, /\n\[Job 1 has ended: .*Exit code 0 after/);
process.stdout.write(`${next}\n`);

// All that it wrote stays readable.
const whole = await toolkit.call({ name: "jobs", input: { action: "output", id: "1", offset: 1 } });
assert.match(asText(whole), /^ready\nHello, Ada!\n\[Lines 1-2 of 2\.\]$/);

await toolkit.close(); // what still ran would end here
await rm(scratch, { recursive: true });
