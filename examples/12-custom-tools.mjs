/**
 * Tools of your own in the forms in which other tools systems know them: one that answers with a text, one with typed
 * arguments and a failure, one that people watch in a cell, one that only the model sees, one that reports progress, and
 * one in another program.
 *
 * Run: node examples/12-custom-tools.mjs
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ToolFailure, asText, createToolkit, defineTool, findToolMessage, plugin, readThread } from "handrail";
import { Type } from "typebox";

// A text goes in, a text comes out.
const myTool = defineTool({
  name: "my_tool",
  description: "Does something useful.",
  input: {
    type: "object",
    properties: { message: { type: "string", description: "The message to process" } },
    required: ["message"],
  },
  run: async ({ message }) => `processed: ${message}`,
});

// The schema is a TypeBox type, and `run` gets its type. A ToolFailure is for the model: what went wrong, and what to do.
const newTool = defineTool({
  name: "new_tool",
  description: "Description of what this tool does",
  input: Type.Object({
    param1: Type.String({ description: "Parameter description" }),
    times: Type.Optional(Type.Integer()),
  }),
  run: async ({ param1, times = 1 }) => {
    if (times < 1) throw new ToolFailure(`times is ${times}`, { hint: "Give at least 1." });
    return Array.from({ length: times }, () => `Result of ${param1}`).join(", ");
  },
});

// Apps show a cell of this one. What `run` returns is the cell's data; `report` changes it while the call runs.
const createTask = defineTool({
  name: "create_task",
  description: "Creates a task.",
  paramsHint: "title (required), note (optional)",
  input: {
    type: "object",
    properties: { title: { type: "string" }, note: { type: "string" } },
    required: ["title"],
    additionalProperties: false,
  },
  run: async ({ title }, { callId, report }) => {
    report({ displayMessage: "Creating task", data: { task_title: title } });
    const cell = await findToolMessage(toolkit.store, callId); // its own cell, as apps see it now
    assert.equal(cell?.metadata.tool_activity.display_message, "Creating task");
    return { task_id: 123, task_status: "active" };
  },
});

// The record has its calls, apps do not show them.
const internalTool = defineTool({
  name: "internal_tool",
  description: "Internal processing",
  userFacing: false,
  input: { type: "object", properties: {} },
  run: async () => ({ ready: true }),
});

// While it runs, people see how far it is.
const getWeather = defineTool({
  name: "get_weather",
  description: "Get the current weather for a city.",
  input: {
    type: "object",
    properties: {
      city: { type: "string", description: "City name, e.g. 'San Francisco'" },
      units: { type: "string", description: "Temperature units", enum: ["celsius", "fahrenheit"] },
    },
    required: ["city"],
  },
  run: async ({ city, units = "celsius" }, { report }) => {
    report({ displayMessage: `Fetching weather for ${city}...` });
    return { city, temperature: units === "celsius" ? "21°C" : "70°F", condition: "sunny" };
  },
  render: ({ city, temperature, condition }) => `Weather in ${city}: ${temperature}, ${condition}`,
});

// One of another program, in any language. Its calls need approval: what they touch is not known.
const other = plugin({
  path: process.execPath,
  args: [fileURLToPath(new URL("plugins/processed.mjs", import.meta.url))],
  name: "processed",
});

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
const toolkit = await createToolkit({
  tools: [myTool, newTool, createTask, internalTool, getWeather],
  sources: [other],
  ...{ workDir, stateDir: `${workDir}-state` },
  approver: async () => ({ answer: "once" }),
});
await toolkit.ready;

/** @type {string[]} */
const progress = [];
/**
 * @param {string} name
 * @param {unknown} input an object, or the JSON text that the model wrote
 */
async function call(name, input) {
  const result = await toolkit.call({ name, input, thread: "demo" }, { onEvent });
  return asText(result);
}
/** @param {import("handrail").CallEvent} event */
function onEvent(event) {
  if (event.type === "call.updated" && event.update.displayMessage) progress.push(event.update.displayMessage);
}

assert.equal(await call("my_tool", '{"message": "hello"}'), "processed: hello");
// Arguments that are not JSON, or do not fit, are answers for the model: `run` is not called.
assert.match(await call("my_tool", '{"message": '), /JSON/);
assert.equal(await call("get_weather", {}), 'validation error: missing required parameter "city"');

assert.equal(await call("new_tool", { param1: "a", times: 2 }), "Result of a, Result of a");
assert.match(await call("new_tool", { param1: "a", times: 0 }), /times is 0.*Give at least 1\./s);

await call("create_task", { title: "Do thing" });
await call("internal_tool", {});
assert.equal(await call("get_weather", { city: "Rome" }), "Weather in Rome: 21°C, sunny");
assert.deepEqual(progress, ["Creating task", "Fetching weather for Rome..."]);

// It is marked as text of others for the model.
assert.match(await call("my_plugin_tool", { input: "data" }), /\nProcessed: data\n/);

// The cells of the thread, as an app reads them.
const messages = await readThread(toolkit.store, "demo");
const cells = messages.flatMap((message) => (message.role === "tool" ? [message] : []));
const task = cells.find(({ metadata }) => metadata.tool_activity.name === "create_task");
assert.equal(task?.metadata.tool_activity.status, "success");
assert.deepEqual(task.metadata.tool_activity.data, { task_title: "Do thing", task_id: 123, task_status: "active" });
const hidden = cells.filter(({ userFacing }) => !userFacing);
assert.deepEqual(
  hidden.map(({ metadata }) => metadata.tool_activity.name),
  ["internal_tool"],
);
console.log(cells.map(({ metadata }) => `${metadata.tool_activity.name}: ${metadata.tool_activity.status}`).join("\n"));

await toolkit.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
