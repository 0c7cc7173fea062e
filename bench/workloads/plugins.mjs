/** Calls of a plugin compared with a raw JSON-lines echo, and the start of a toolkit with slow sources. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createToolkit, defineTool, plugin } from "handrail";
import { atMost, ok, within } from "./shared.mjs";

const CALLS_A_RUN = 200;
const SLOW_SOURCES = 10;
const SLOW_MS = 5_000;

const ECHO = `
const { createInterface } = require("node:readline");
const send = (message) => process.stdout.write(JSON.stringify(message) + "\\n");
const parameters = { type: "object", properties: { text: { type: "string" } } };
const tools = [{ name: "echo", description: "Echoes.", parameters }];
createInterface({ input: process.stdin }).on("line", (line) => {
  const { type, call_id, params } = JSON.parse(line);
  if (type === "init") send({ type, tools });
  const content = [{ type: "text", text: params?.text }];
  if (type === "call") send({ type: "result", call_id, content, is_error: false });
});
`;

/** @type {readonly import("./shared.mjs").Workload[]} */
export const PLUGINS = [
  {
    name: "plugin-call",
    what:
      "one call of a plugin, checked, judged and recorded; " +
      "ceiling the same lines over a pipe of Node's, peer a tool of ours that does this itself",
    unit: "µs",
    scale: 1_000 / CALLS_A_RUN,
    target: atMost(3),
    async prepare(folder) {
      const path = script(folder, "echo.cjs", ECHO);
      const child = spawn(process.execPath, [path], { stdio: ["pipe", "pipe", "inherit"] });
      const lines = createInterface({ input: child.stdout });
      /** @param {string} text @returns {Promise<string>} */
      const bare = async (text) => {
        const answer = once(lines, "line");
        child.stdin.write(`${JSON.stringify({ type: "call", name: "echo", call_id: text, params: { text } })}\n`);
        return JSON.parse((await answer)[0]).content[0].text;
      };
      const own = defineTool({
        name: "own",
        description: "Echoes.",
        touches: ["foreign"],
        input: { type: "object", properties: { text: { type: "string" } } },
        effects: (input) => [{ kind: "foreign", from: "bench", tool: "own", input: JSON.stringify(input) }],
        run: ({ text = "" }) => bare(text),
      });
      const toolkit = await createToolkit({
        preset: "none",
        tools: [own],
        sandbox: "off",
        sources: [plugin({ path: process.execPath, args: [path], name: "echo" })],
        policy: { autonomy: "full" },
        stateDir: join(folder, "plugin-state"),
      });
      await toolkit.ready;
      /** @param {string} name */
      const calling = async (name) => {
        for (let number = 0; number < CALLS_A_RUN; number++) {
          await ok(toolkit.call({ name, input: { text: String(number) } }));
        }
      };
      return {
        ours: () => calling("echo"),
        peer: () => calling("own"),
        async ceiling() {
          for (let number = 0; number < CALLS_A_RUN; number++) await bare(String(number));
        },
        async cleanUp() {
          child.kill();
          await toolkit.close();
        },
      };
    },
  },
  {
    name: "plugin-start",
    what:
      `a toolkit with ${SLOW_SOURCES} plugins that take ${SLOW_MS / 1_000} s to start, to the end of its first call; ` +
      "ceiling one without",
    rounds: 5,
    target: within(200, "ms"),
    async prepare(folder) {
      const path = script(folder, "slow.cjs", `setTimeout(() => {\n${ECHO}\n}, ${SLOW_MS});`);
      const sources = () =>
        Array.from({ length: SLOW_SOURCES }, (_, index) =>
          plugin({ path: process.execPath, args: [path], name: `slow${index}` }),
        );
      /** @param {readonly import("handrail").ToolSource[]} given */
      const start = async (given) => {
        const started = performance.now();
        const toolkit = await createToolkit({
          preset: "readonly",
          sandbox: "off",
          workDir: folder,
          sources: given,
          stateDir: join(folder, "plugin-state"),
        });
        await ok(toolkit.call({ name: "ls", input: {} }));
        const time = performance.now() - started;
        await toolkit.close();
        return time;
      };
      return { measuresItself: true, ours: () => start(sources()), ceiling: () => start([]) };
    },
  },
];

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} text
 */
function script(folder, name, text) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}
