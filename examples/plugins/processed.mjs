#!/usr/bin/env node
import process from "node:process";
import { createInterface } from "node:readline";

const TOOLS = [
  {
    name: "my_plugin_tool",
    description: "Does something useful.",
    params_hint: "input (required)", // for people
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "What to work on" } },
      required: ["input"],
      examples: [{ input: "hello" }],
    },
  },
];

/** The work of a tool. What it throws becomes the call's error. @param {string} name @param {{ input: string }} params */
async function run(name, params) {
  if (name !== "my_plugin_tool") throw new Error(`unknown tool: ${name}`);
  return `Processed: ${params.input}`;
}

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

// stdout is for messages only: log with console.error.
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "init") send({ type: "init", tools: TOOLS });
  if (message.type !== "call") continue; // a type that this plugin does not know
  const { call_id, name, params } = message;
  run(name, params).then(
    (text) => send({ type: "result", call_id, content: [{ type: "text", text }], is_error: false }),
    (error) => send({ type: "result", call_id, content: [{ type: "text", text: String(error) }], is_error: true }),
  );
}
