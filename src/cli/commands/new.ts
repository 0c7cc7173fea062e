import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newFolder } from "../new-folder.ts";
import type { GlobalOptions } from "../options.ts";
import { say } from "../say.ts";

/** The commands of `handrail new`. */
export const run = { tool: newTool };

const FILES = ["tool.mjs", "tool.test.mjs", "mcp.mjs"].map((name) => ({ from: `tool/${name}`, to: name }));

/** Creates a project with one tool, its tests and its MCP server, in a new folder in the current folder. */
async function newTool(name: string, { io }: GlobalOptions): Promise<void> {
  const written = await newFolder(io.cwd, name, FILES, { tool: "line_count", command: "new tool" });
  const manifest = {
    ...{ name, version: "0.1.0", private: true, type: "module", exports: "./tool.mjs", bin: "./mcp.mjs" },
    scripts: { test: "node --test", start: "node mcp.mjs" },
    dependencies: { handrail: `^${__VERSION__}` },
  };
  await writeFile(join(io.cwd, name, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const entry = JSON.stringify({
    mcpServers: { [name]: { command: "node", args: [`${io.cwd}/${name}/mcp.mjs`] } },
  });
  say(
    io,
    `Wrote ${written}, ${name}/package.json.\nTest it:  cd ${name} && npm install && npm test\n` +
      `Use it in a program:  import tool from "./${name}/tool.mjs", then createToolkit({ tools: [tool] })\n` +
      `Use it in an MCP client, with the entry:\n  ${entry}`,
  );
}
