// Tools of your own as an MCP server, with Handrail's checks, policy and record. With "serve" it is the server;
// alone it is also a client that calls it.
// Run: node examples/09-mcp-server.mjs
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createToolkit, defineTool } from "handrail";
import { serveStdio } from "handrail/mcp";

async function serve(/** @type {string} */ stateDir) {
  const dice = defineTool({
    name: "roll_dice",
    description: "Roll dice and return the sum.",
    input: { type: "object", properties: { count: { type: "integer", minimum: 1, maximum: 10 } }, required: ["count"] },
    output: { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] },
    run: async ({ count }) => ({ sum: count * 4 }), // fair on average
  });
  const toolkit = await createToolkit({ tools: [dice], stateDir });
  await serveStdio(toolkit, { closeToolkit: true }).closed;
}

async function check() {
  const stateDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
  const client = new Client({ name: "example", version: "1.0.0" });
  const args = [fileURLToPath(import.meta.url), "serve", stateDir];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  const { structuredContent } = await client.callTool({ name: "roll_dice", arguments: { count: 2 } });
  assert.deepEqual(structuredContent, { sum: 8 });
  const wrong = await client.callTool({ name: "roll_dice", arguments: { count: 99 } });
  assert.equal(wrong.isError, true);
  console.log(JSON.stringify(structuredContent));
  await client.close();
  await rm(stateDir, { recursive: true, force: true });
}

const [, , command, folder] = process.argv;
await (command === "serve" && folder !== undefined ? serve(folder) : check());
