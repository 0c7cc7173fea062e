// What a call does while it runs, how it is stopped, where all of its output is, and the record of it.
// Run: node examples/08-record-and-stop.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asText, createToolkit, sqliteStore } from "handrail";

const scratch = await mkdtemp(join(tmpdir(), "handrail-example-"));
const file = join(scratch, "calls.db");
const stateDir = join(scratch, "state");

const toolkit = await createToolkit({
  preset: "coding",
  workDir: scratch,
  stateDir,
  store: sqliteStore({ file }), // several processes may share it; without it the record is in memory
  approver: async () => ({ answer: "once" }), // where there is no sandbox, commands are asked about
});

// Events of one call, as they happen.
let output = "";
const counted = await toolkit.call(
  { name: "bash", input: { command: "echo one; echo two" }, thread: "demo" },
  {
    onEvent(event) {
      if (event.type === "call.updated") output += event.update.output ?? "";
    },
  },
);
assert.equal(counted.status, "ok");
assert.match(output, /one\n/);

// A signal stops a call. The command ends with all that it has started, and the call has a result like any other.
const stopping = new AbortController();
const slow = toolkit.call(
  { name: "bash", input: { command: "echo begun; sleep 100" }, thread: "demo" },
  {
    signal: stopping.signal,
    onEvent: (event) => event.type === "call.updated" && stopping.abort(new Error("the user pressed stop")),
  },
);
const stopped = await slow;
assert.equal(stopped.status, "aborted");

// A long result is cut for the model and saved whole. The notice names it, and `read` takes it like a file.
const long = await toolkit.call({ name: "bash", input: { command: "seq 1 100000" }, thread: "demo" });
const id = /output:\/\/(\w+)/.exec(asText(long))?.[1] ?? "";
const saved = await toolkit.outputs.open(id);
assert.equal(saved.info.size, 588_895);
assert.match(Buffer.from(await saved.read(0, 10)).toString(), /^1\n2\n/);
await saved.close();
const part = await toolkit.call({ name: "read", input: { path: `output://${id}`, offset: 70_000, limit: 1 } });
assert.match(asText(part), /^70000\n/);

// The record: every call and what became of it, here or in another process that opens the same file.
/** @type {string[]} */
const record = [];
for await (const event of toolkit.store.events({ thread: "demo", types: ["call.finished"] })) {
  if (event.type === "call.finished") record.push(event.status);
}
assert.deepEqual(record, ["ok", "aborted", "ok"]);
console.log(record.join(", "));

await toolkit.close();
await rm(scratch, { recursive: true });
