// A plugin: a program that provides a tool over its stdin and stdout, one JSON object a line. 12-custom-tools.mjs uses it.
import process from "node:process";

const tool = {
  name: "my_plugin_tool",
  description: "Does something useful.",
  parameters: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
};

/** @param {object} message */
const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** @param {{ type: string, call_id: string, params: { input: string } }} message */
function answer({ type, call_id, params }) {
  if (type === "init") send({ type: "init", tools: [tool] });
  if (type !== "call") return; // messages of types that it does not know are ignored
  send({ type: "result", call_id, content: [{ type: "text", text: `Processed: ${params.input}` }], is_error: false });
}

let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) answer(JSON.parse(line));
});
