// The same tools for a program that speaks MCP: the official client starts `handrail mcp` and answers its questions.
// Run: node examples/03-mcp-client.mjs
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const scratch = await mkdtemp(join(tmpdir(), "handrail-example-"));
const folder = join(scratch, "project");
await mkdir(folder);
await writeFile(join(folder, "hello.txt"), "hello from a file\n");
await writeFile(join(folder, ".env"), "");

const client = new Client({ name: "example", version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } });
const questions = [];
client.setRequestHandler("elicitation/create", async ({ params }) => {
  questions.push(params.message);
  return { action: "accept", content: { answer: "once" } };
});
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [
      fileURLToPath(import.meta.resolve("handrail/package.json")).replace("package.json", "dist/cli.js"),
      "mcp",
      "--work-dir",
      folder,
    ],
    env: { ...process.env, XDG_STATE_HOME: join(scratch, "state") },
  }),
);

const { tools } = await client.listTools();
assert.deepEqual(
  tools.map(({ name }) => name),
  ["read", "bash", "edit", "write", "jobs"],
);

const { content } = await client.callTool({ name: "read", arguments: { path: "hello.txt" } });
assert.deepEqual(content, [{ type: "text", text: "hello from a file\n" }]);

const run = await client.callTool({ name: "bash", arguments: { command: "cat .env; tr a-z A-Z < hello.txt" } });
assert.deepEqual(run.content, [{ type: "text", text: "HELLO FROM A FILE\n" }]);
assert.equal(questions.length, 1, "the name of a file with secrets is asked about");

console.log(tools.map(({ name, title }) => `${name}: ${title}`).join("\n"));
console.log(questions[0]);
console.log(run.content[0].text);
await client.close();
await rm(scratch, { recursive: true });
