// Tools, a prompt and a resource of your own as an MCP server over HTTP. `fetch` answers a web Request, so the endpoint
// fits into any server; here the client calls it without one.
// Run: node examples/11-mcp-over-http.mjs
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createToolkit } from "handrail";
import { createHttpEndpoint } from "handrail/mcp";

const rows = { cities: "Rome\nBern" };
const dump = (/** @type {keyof typeof rows} */ table) => rows[table];
const toolkit = await createToolkit({ preset: "readonly", workDir: import.meta.dirname });

const endpoint = createHttpEndpoint(toolkit, {
  hosts: ["tools.example.org"],
  prompts: () => [{ name: "review", get: async () => "Review the last commit." }],
  resources: [{ uri: "db://{table}", name: "table", read: async (uri, { table }) => dump(table) }],
});

const client = new Client({ name: "example", version: "1.0.0" });
const url = new URL("https://tools.example.org/mcp");
const headers = { host: "tools.example.org" }; // as a server would get it
await client.connect(
  new StreamableHTTPClientTransport(url, {
    fetch: async (to, init) =>
      endpoint.fetch(
        new Request(to, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } }),
      ),
  }),
);
const { messages } = await client.getPrompt({ name: "review" });
assert.deepEqual(messages[0]?.content, { type: "text", text: "Review the last commit." });
const { contents } = await client.readResource({ uri: "db://cities" });
assert.equal(contents[0] && "text" in contents[0] && contents[0].text, "Rome\nBern");
const { isError } = await client.callTool({ name: "ls", arguments: {} });
assert.ok(!isError);
console.log("a prompt, a resource and a call over HTTP");
await client.close();
await endpoint.close();
await toolkit.close();
