import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer, createMcpHandler, fromJsonSchema } from "@modelcontextprotocol/server";
import { createToolkit, defineTool } from "handrail";
import { createHttpEndpoint } from "handrail/mcp";
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
    name: "mcp-server-stdio",
    what: "a client's call of a tool of ours on stdio; ceiling the bare SDK at both ends",
    scale: 1 / CALLS,
    target: atMost(2),
    async prepare(folder) {
      const example = [join(projectRoot, "examples/09-mcp-server.mjs"), "serve", join(folder, "mcp-server-state")];
      const ours = await connected(stdio(process.execPath, ...example));
      const bare = await connected(stdio(...SERVER));
      return beside(ours, { name: "roll_dice", arguments: { count: 2 } }, bare);
    },
  },
  {
    name: "mcp-server-http",
    what: "a client's call of a tool of ours over HTTP, without a socket; ceiling the bare SDK at both ends",
    scale: 1 / CALLS,
    target: atMost(2),
    async prepare(folder) {
      const input = { type: "object", properties: { words: { type: "string" } }, required: ["words"] };
      const echo = defineTool({ name: "echo", description: "Echoes.", input, run: async ({ words }) => String(words) });
      const toolkit = await createToolkit({ ...FULL, tools: [echo], stateDir: join(folder, "mcp-server-state") });
      const endpoint = createHttpEndpoint(toolkit, { hosts: "checked" });
      const ours = await connected(http((request) => endpoint.fetch(request)));
      const handler = createMcpHandler(() => {
        const server = new McpServer({ name: "bare", version: "1" });
        server.registerTool("echo", { description: "Echoes.", inputSchema: fromJsonSchema(input) }, (given) => ({
          content: [{ type: "text", text: JSON.stringify(given) }],
        }));
        return server;
      });
      const bare = await connected(http((request) => handler.fetch(request)));
      const work = beside(ours, ECHO, bare);
      return {
        ...work,
        async cleanUp() {
          await work.cleanUp();
          await endpoint.close();
          await toolkit.close();
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

const ECHO = { name: "echo", arguments: { words: "hello" } };

/** @param {string} command @param {string[]} args */
function stdio(command, ...args) {
  return new StdioClientTransport({ command, args, stderr: "ignore" });
}

/** @param {(request: Request) => Promise<Response>} answer */
function http(answer) {
  return new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), {
    fetch: (input, init) => answer(new Request(input, { ...init, signal: null })), // else each adds a listener to it
  });
}

/** @param {import("@modelcontextprotocol/client").Transport} transport */
async function connected(transport) {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(transport);
  return client;
}

/** @param {Client} ours @param {{ name: string, arguments: { [name: string]: unknown } }} call @param {Client} bare */
function beside(ours, call, bare) {
  return {
    async ours() {
      for (let made = 0; made < CALLS; made++) await ours.callTool(call);
    },
    async ceiling() {
      for (let made = 0; made < CALLS; made++) await bare.callTool(ECHO);
    },
    async cleanUp() {
      await Promise.all([ours.close(), bare.close()]);
    },
  };
}
