import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { projectRoot } from "../../scripts/lib/project.mjs";
import { temporaryFolder } from "../support/workspace.ts";
import { commandLine } from "./program.ts";

test("handrail new tool copies a project whose tests pass, and whose server an MCP client uses", async () => {
  const line = await commandLine({ "notes.txt": "one\ntwo\nthree\n" });
  const made = await line.here(["new", "tool", "line-count"]);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining("npm install && npm test") as string });
  const folder = join(line.folder, "line-count");
  await mkdir(join(folder, "node_modules"));
  await symlink(projectRoot, join(folder, "node_modules/handrail")); // what npm install would do
  const { stdout } = await promisify(execFile)("npm", ["test", "--silent"], { cwd: folder });
  expect(stdout).toMatch(/pass 4\b/);

  const entry = JSON.parse(/\{"mcpServers".*/.exec(made.stdout)?.[0] ?? "") as {
    readonly mcpServers: { readonly [name: string]: { readonly command: string; readonly args: string[] } };
  };
  const client = new Client({ name: "test", version: "1.0.0" });
  const server = { ...entry.mcpServers["line-count"]!, cwd: line.folder, env: { XDG_STATE_HOME: temporaryFolder() } };
  await client.connect(new StdioClientTransport(server));
  expect(await client.callTool({ name: "line_count", arguments: { path: "notes.txt" } })).toMatchObject({
    content: [{ type: "text", text: "notes.txt has 3 lines." }],
  });
  await client.close();
});

test.for([
  ["line-count", "new tool: there is a file or a folder line-count here; choose another name"],
  ["Line Count", 'new tool: expected a name of small letters, digits and "-", got Line Count'],
])("handrail new tool %j says why it wrote nothing", async ([name = "", why]) => {
  const line = await commandLine({ "line-count": "" });
  const { code, stderr } = await line.here(["new", "tool", name]);
  expect(code).not.toBe(0);
  expect(stderr).toContain(why);
});
