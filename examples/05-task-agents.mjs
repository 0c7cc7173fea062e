/**
 * Two agents with toolsets of their own, named in a configuration. One has a tool that updates its own cell while it
 * runs; the cell is read by another process, and changed after the end of the call.
 *
 * Run: node examples/05-task-agents.mjs
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToolkit, defineTool, findToolMessage, readThread, sqliteStore, updateToolActivityData } from "handrail";
import { createAgent } from "handrail/agent";
import { scriptedModel } from "handrail/testing";

const configuration = {
  toolsets: { task_agent: ["create_task", "time"], reader: ["read", "grep"] },
  agents: { planner: { toolset: "task_agent" }, reviewer: { toolset: "reader" } },
};

const createTask = defineTool({
  name: "create_task",
  description: "Create a task.",
  paramsHint: "title (required)",
  input: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
  run: async ({ title }, { report }) => {
    report({ displayMessage: "Creating task" }); // shown in the cell while it runs
    report({ data: { task_title: title } });
    return { task_id: 123, task_status: "active" };
  },
});

const scratch = await mkdtemp(join(tmpdir(), "handrail-example-"));
const file = join(scratch, "handrail.db");

/** @param {keyof typeof configuration.agents} name */
async function run(name) {
  const { toolset: preset } = configuration.agents[name];
  const { toolsets } = configuration;
  const options = { preset, toolsets, tools: [createTask], workDir: scratch, stateDir: join(scratch, "state") };
  const toolkit = await createToolkit({ ...options, store: sqliteStore({ file }) });
  // In place of a language model: it wants a task, whatever tools it has.
  const model = scriptedModel([{ calls: [{ name: "create_task", input: { title: "Do thing" } }] }, { text: "Done." }]);
  const agent = await createAgent({ model, toolkit, thread: name });
  await agent.send("Create a task.");
  await agent.close();
  await toolkit.close();
  return [...toolkit.tools.keys()];
}

assert.deepEqual(await run("planner"), ["create_task", "time"]);
assert.deepEqual(await run("reviewer"), ["read", "grep"]);

// An app reads the threads from the same file.
const app = await createToolkit({ preset: "none", stateDir: join(scratch, "state"), store: sqliteStore({ file }) });
const cells = async (/** @type {string} */ thread) =>
  (await readThread(app.store, thread)).flatMap((message) =>
    message.role === "tool" ? [message.metadata.tool_activity] : [],
  );
const [cell] = await cells("planner");
assert.ok(cell);
assert.deepEqual(cell, {
  id: cell.id,
  name: "create_task",
  params_hint: "title (required)",
  status: "success",
  input: { title: "Do thing" },
  data: { task_title: "Do thing", task_id: 123, task_status: "active" },
});
const [refused] = await cells("reviewer");
assert.equal(refused?.error, 'unknown tool "create_task". Closest: "read", "grep"');

// The task was finished meanwhile: the cell's data changes, its status cannot.
await updateToolActivityData(app, cell.id, { task_status: "done" });
const message = await findToolMessage(app.store, cell.id);
assert.equal(message?.metadata.tool_activity.data["task_status"], "done");
process.stdout.write(`${JSON.stringify(message?.metadata)}\n`);

await app.close();
await rm(scratch, { recursive: true });
