// The coding tools on a folder, with a person's word on what is asked. Run: node examples/02-files-under-a-policy.mjs
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asText, createToolkit, describeCall } from "handrail";

const scratch = await mkdtemp(join(tmpdir(), "handrail-example-"));
const folder = join(scratch, "project");
await mkdir(folder);
await writeFile(join(folder, "notes.txt"), "eggs\nmilk\n");
await writeFile(join(folder, ".env"), "TOKEN=secret\n");

const asked = [];
const toolkit = await createToolkit({
  preset: "coding", // read, bash, edit, write, jobs
  workDir: folder,
  stateDir: join(scratch, "state"),
  // Your application asks a person here: a dialog, a chat message, a terminal. This one writes down what it was asked.
  approver: async (call, decision) => {
    asked.push(`${describeCall(call)} (${decision.risk} risk)`);
    return { answer: "once" };
  },
});

const edited = await toolkit.call({
  name: "edit",
  input: { path: "notes.txt", old_text: "milk", new_text: "oat milk" },
});
assert.match(asText(edited), /^-milk\n\+oat milk$/m);
assert.deepEqual(asked, [], "files of the working directory are not asked about");

const counted = await toolkit.call({ name: "bash", input: { command: "wc -l notes.txt" } });
assert.equal(asText(counted).trim(), "2 notes.txt");
assert.deepEqual(asked, [], "a command that only looks is not asked about");

// Where the sandbox contains them, commands run unasked. A file with secrets is asked about everywhere.
await toolkit.call({ name: "bash", input: { command: "cat .env" } });
assert.deepEqual(asked, ["Run: cat .env (high risk)"]);

const dangerous = await toolkit.call({ name: "bash", input: { command: "rm -rf /" } });
assert.equal(dangerous.status, "denied");
assert.equal(asked.length, 1, "what is refused is not even asked about");

const outside = await toolkit.call({ name: "write", input: { path: "~/elsewhere.txt", content: "x" } });
assert.equal(outside.status, "denied");

console.log(asText(edited));
console.log(asText(dangerous));
console.log(asText(outside));
assert.equal(await readFile(join(folder, "notes.txt"), "utf8"), "eggs\noat milk\n");
await toolkit.close();
await rm(scratch, { recursive: true });
