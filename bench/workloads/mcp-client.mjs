import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createToolkit } from "handrail";
import { mcpServer } from "handrail/mcp-client";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { atMost, ok } from "./shared.mjs";

const CALLS = 200;
const SERVER = [process.execPath, join(projectRoot, "test/fixtures/mcp/foreign-server.mjs"), "2025-11-25"];
const FULL = { preset: "none", policy: { autonomy: "full" } };

/** @type {readonly import("./shared.mjs").Workload[]} */
export const MCP_CLIENT = [
  {
    name: "mcp-client-call",
    what: "a call of another MCP server's tool; ceiling the bare SDK on the same server",
    scale: 1 / CALLS,
    target: atMost(2),
    async prepare(folder) {
      const [command = "", ...args] = SERVER;
      const source = mcpServer("bare", { command, args, within: "none" });
      const toolkit = await createToolkit({ ...FULL, sources: [source], stateDir: join(folder, "mcp-client-state") });
      await toolkit.ready;
      const client = new Client({ name: "bench", version: "1" });
      await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
      const input = { words: "hello" };
      return {
        async ours() {
          for (let call = 0; call < CALLS; call++) await ok(toolkit.call({ name: "mcp__bare__echo", input }));
        },
        async ceiling() {
          for (let call = 0; call < CALLS; call++) await client.callTool({ name: "echo", arguments: input });
        },
        async cleanUp() {
          await Promise.all([toolkit.close(), client.close()]);
        },
      };
    },
  },
  {
    name: "mcp-client-start",
    what: "until the first call of a tool of ours, with ten servers that take 5 s to start; ceiling without servers",
    rounds: 5,
    target: atMost(2),
    async prepare(folder) {
      const slow = {
        command: "sh",
        args: ["-c", 'sleep 5; exec "$@"', "sh", ...SERVER],
        within: /** @type {const} */ ("none"),
      };
      /** @param {number} servers */
      const started = async (servers) => {
        const sources = Array.from({ length: servers }, (_, index) => mcpServer(`slow${index}`, slow));
        const begun = performance.now();
        const toolkit = await createToolkit({
          ...{ preset: "coding", policy: { autonomy: "full" }, workDir: folder },
          ...{ sources, stateDir: join(folder, "mcp-client-state") },
        });
        await ok(toolkit.call({ name: "bash", input: { command: "true" } }));
        const time = performance.now() - begun;
        await toolkit.close();
        return time;
      };
      return { measuresItself: true, ours: () => started(10), ceiling: () => started(0) };
    },
  },
];
