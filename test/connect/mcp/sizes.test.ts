// The state folder stays within its limits in running sessions: two servers of the command line share one folder.
import { execFile } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { PROGRAM } from "../../cli/program.ts";
import { temporaryFolder, workspace } from "../../support/workspace.ts";

const MB = 1_048_576;
/** The limits of saved outputs, and of the database. */
const LIMIT = { outputs: 4 * MB, database: 2 * MB };
const CALLS = 44;

test("saved outputs and the database stay within their limits while two servers add to them", async () => {
  const workDir = await workspace({ "a.txt": `${"needle in some hay ".repeat(5)}\n`.repeat(1_200) });
  const stateHome = temporaryFolder();
  const configHome = await workspace({ "handrail/config.yaml": "state: { outputs_mb: 4, database_mb: 2 }\n" });
  const env = { ...process.env, XDG_STATE_HOME: stateHome, XDG_CONFIG_HOME: configHome };
  const clients = [await connected(workDir, env), await connected(workDir, env)];
  const state = join(stateHome, "handrail");
  const most = { outputs: 0, database: 0 };
  /** The results of each server, in order. */
  const ids = new Map<Client, string[]>(clients.map((client) => [client, []]));
  const callOn = async (client: Client) => {
    const { content } = await client.callTool({ name: "grep", arguments: { pattern: "needle", max_results: 5_000 } });
    ids.get(client)?.push(/output:\/\/(\w+)/.exec(JSON.stringify(content))?.[1] ?? "");
    most.outputs = Math.max(most.outputs, sizeOfFolders(join(state, "outputs")));
    most.database = Math.max(most.database, sizeOf(join(state, "handrail.db")));
  };
  // Two concurrent calls on each server.
  const lanes = [...clients, ...clients].map(async (client) => {
    for (let count = 0; count < CALLS / 2; count++) await callOn(client);
  });
  await Promise.all(lanes);

  expect([...ids.values()].flat().filter((id) => id !== "")).toHaveLength(2 * CALLS);
  expect(2 * CALLS * 120_000).toBeGreaterThan(2 * LIMIT.outputs); // the total that was saved
  // Over the limit is what is written while the oldest is removed, in the background: more on a busy machine. Were
  // nothing removed, both would
  // be at twice their limits.
  expect(most.outputs).toBeGreaterThan(LIMIT.outputs / 2);
  expect(most.outputs).toBeLessThan(1.5 * LIMIT.outputs);
  expect(most.database).toBeGreaterThan(LIMIT.database / 2);
  expect(most.database).toBeLessThan(1.5 * LIMIT.database);
  expect(sizeOf(join(state, "handrail.db-wal"))).toBeLessThan(20 * MB);

  for (const [client, own] of ids) {
    const read = async (id: string | undefined) =>
      JSON.stringify((await client.callTool({ name: "read", arguments: { path: `output://${id}` } })).content);
    expect(await read(own.at(-1))).toContain("needle in some hay");
    expect(await read(own[0])).toContain("when all of them exceed 4MB, the oldest first.");
  }
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, "doctor"], { cwd: workDir, env });
  expect(stdout).toMatch(/^ok {7}saved outputs {2}\S+\/handrail\/outputs: [234](\.\d)?MB of at most 4MB$/m);
  expect(stdout).toMatch(
    /^ok {7}database .*handrail\.db is whole: (\d+KB|[12](\.\d)?MB) of at most 2MB, and \S+MB of write-ahead log$/m,
  );
}, 60_000);

async function connected(workDir: string, env: NodeJS.ProcessEnv): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const args = [PROGRAM, "mcp", "--preset", "readonly", "--work-dir", workDir];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env: env as Record<string, string> }),
  );
  onTestFinished(() => client.close());
  return client;
}

function sizeOfFolders(folder: string): number {
  const files = namesIn(folder).flatMap((owner) =>
    namesIn(join(folder, owner)).map((name) => join(folder, owner, name)),
  );
  return files.reduce((sum, file) => sum + sizeOf(file), 0);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Returns 0 for a file that was removed meanwhile. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
