import type { GlobalOptions } from "../options.ts";
import { type TemplateFile, requireName, writeFolder } from "../new-folder.ts";
import { say } from "../say.ts";

/** The commands of `handrail new`. */
export const run = { tool: newTool };

/** Creates a project with one tool, its tests and its MCP server, in a new folder in the current folder. */
async function newTool(name: string, { io }: GlobalOptions): Promise<void> {
  requireName(name, "new tool");
  const written = await writeFolder(io.cwd, name, filesOf(name), "new tool");
  const entry = JSON.stringify({
    mcpServers: { [name]: { command: "node", args: [`${io.cwd}/${name}/mcp.mjs`] } },
  });
  say(
    io,
    `Wrote ${written}.\nTest it:  cd ${name} && npm install && npm test\n` +
      `Use it in a program:  import tool from "./${name}/tool.mjs", then createToolkit({ tools: [tool] })\n` +
      `Use it in an MCP client, with the entry:\n  ${entry}`,
  );
}

function filesOf(name: string): readonly TemplateFile[] {
  const manifest = {
    ...{ name, version: "0.1.0", private: true, type: "module", exports: "./tool.mjs", bin: "./mcp.mjs" },
    scripts: { test: "node --test", start: "node mcp.mjs" },
    dependencies: { handrail: `^${__VERSION__}` },
  };
  const tool = name.replaceAll("-", "_");
  const text = (template: string) => template.replaceAll(/\bTOOL\b/g, tool);
  return [
    { name: "package.json", text: `${JSON.stringify(manifest, null, 2)}\n` },
    { name: "tool.mjs", text: text(TOOL_MODULE) },
    { name: "tool.test.mjs", text: text(TEST) },
    { name: "mcp.mjs", text: MCP, isProgram: true },
  ];
}

const TOOL_MODULE = `import { ToolFailure, defineTool } from "handrail";

/** The tool, for toolkits: createToolkit({ tools: [tool] }). */
const tool = defineTool({
  name: "TOOL",
  description: "Counts the lines of a text file of the workspace.", // for the model
  input: {
    type: "object",
    properties: { path: { type: "string", description: "Path of the file" } },
    required: ["path"],
  },
  // What a call touches. The policy judges it before \`run\` is called, and \`backend\` reaches nothing else.
  touches: ["read"],
  effects: ({ path }) => [{ kind: "read", path }],
  async run({ path }, { backend }) {
    const file = await backend.files.open(path);
    try {
      if (file.info.size > 10_000_000) throw new ToolFailure(\`\${path} is larger than 10 MB\`);
      const text = Buffer.from(await file.read(0, file.info.size)).toString("utf8");
      return { path, lines: text.split("\\n").length - 1 };
    } finally {
      await file.close();
    }
  },
  render: ({ path, lines }) => \`\${path} has \${lines} lines.\`, // what the model reads
});

export default tool;
`;

const TEST = `import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { asText, createToolkit } from "handrail";
import { createAgent } from "handrail/agent";
import { scriptedModel } from "handrail/testing";
import tool from "./tool.mjs";

const workDir = await mkdtemp(join(tmpdir(), "TOOL-"));
await writeFile(join(workDir, "notes.txt"), "one\\ntwo\\n");
const toolkit = await createToolkit({ tools: [tool], workDir, stateDir: \`\${workDir}-state\` });
after(async () => {
  await toolkit.close();
  await rm(workDir, { recursive: true });
  await rm(\`\${workDir}-state\`, { recursive: true, force: true });
});

test("a call does its work, as the model reads it", async () => {
  const result = await toolkit.call({ name: "TOOL", input: { path: "notes.txt" } });
  assert.equal(asText(result), "notes.txt has 2 lines.");
});

test("what is wrong with a call is told to the model", async () => {
  assert.match(asText(await toolkit.call({ name: "TOOL", input: {} })), /missing required parameter "path"/);
  assert.match(asText(await toolkit.call({ name: "TOOL", input: { path: "none.txt" } })), /^Tool error: /);
});

test("a call outside the workspace is not made without a person", async () => {
  const result = await toolkit.call({ name: "TOOL", input: { path: "/etc/shadow" } });
  assert.equal(result.status, "denied");
});

test("an agent uses it", async () => {
  const model = scriptedModel([
    { calls: [{ name: "TOOL", input: { path: "notes.txt" } }] },
    { text: "Two lines." },
  ]);
  const agent = await createAgent({ model, toolkit });
  const { reason } = await agent.send("How long are my notes?");
  await agent.close();
  assert.equal(reason, "done");
});
`;

const MCP = `#!/usr/bin/env node
// The tool as an MCP server, for the folder that the client starts it in.
import { createToolkit } from "handrail";
import { serveStdio } from "handrail/mcp";
import tool from "./tool.mjs";

await serveStdio(await createToolkit({ tools: [tool] }), { closeToolkit: true }).closed;
`;
