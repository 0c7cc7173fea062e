// The entries for clients in docs/mcp.md are valid, and what they start is a server.
import { readFile } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { PROGRAM } from "../../cli/program.ts";
import { temporaryFolder, workspace } from "../../support/workspace.ts";

const page = await readFile(new URL("../../../docs/mcp.md", import.meta.url), "utf8");
const entries = [...page.matchAll(/^\*\*(.*?)\*\*[^]*?^```(?:json|yaml)\n([^]*?)^```$/gm)].map(
  ([, client = "", entry = ""]) => ({ client, entry }),
);

test("there is an entry for each client of the table", () => {
  const table = page.split(/^## /m).find((part) => part.startsWith("What a client can ask")) ?? "";
  const inTable = [...table.matchAll(/^\| (?!Client|---)([^|]+?) \| /gm)].map(([, name = ""]) => name);
  expect(inTable.toSorted()).toEqual(["Claude Code", "Cursor", "Gemini CLI", "Goose", "VS Code", "Zed", "opencode"]);
  const named = entries.map(({ client }) => client.replace("Version 1", "opencode"));
  expect([...new Set(named)].toSorted()).toEqual(inTable.toSorted());
});

test.each(entries)("the entry for $client starts a server", async ({ entry }) => {
  const workDir = await workspace({ "a.txt": "" });
  const text = entry.replaceAll(/\/path\/to\/project|\$\{workspaceFolder\}/g, workDir);
  const [program, ...args] = commandIn(parse(text)) ?? [];
  expect(program).toBe("handrail");
  const client = new Client({ name: "test", version: "1.0.0" });
  const env = {
    PATH: process.env["PATH"] ?? "",
    XDG_STATE_HOME: temporaryFolder(),
    XDG_CONFIG_HOME: temporaryFolder(),
  };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM, ...args], env }));
  expect(client.getInstructions()).toContain(workDir);
  await client.close();
});

/** Returns the program and its arguments, in any client's format. */
function commandIn(value: unknown): readonly string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { command, cmd = command, args = [] } = value as { command?: unknown; cmd?: unknown; args?: string[] };
  if (Array.isArray(cmd)) return cmd as string[];
  if (typeof cmd === "string") return [cmd, ...args];
  return Object.values(value)
    .map(commandIn)
    .find((found) => found !== undefined);
}
