// How long a model waits for a call that reads or changes one small file, in the library and over MCP, compared with
// the MCP filesystem server.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createToolkit, edit, ls, read } from "handrail";
import { atMost, ok, within } from "./shared.mjs";

/** Calls per round. A time is that of one call. */
const CALLS = 100;

const LINE = "A line of twenty-five.....\n";
const projectRoot = fileURLToPath(new URL("../..", import.meta.url));

/**
 * The same work for both: the call of our tool, and that of the other server. `count` is different for each call, and
 * increases.
 */
const WORK = {
  read: {
    what: "read a file of 20 KB",
    most: 0.25,
    ours: () => ({ name: "read", arguments: { path: "read.txt" } }),
    theirs: (/** @type {string} */ folder) => ({
      name: "read_text_file",
      arguments: { path: join(folder, "read.txt") },
    }),
  },
  ls: {
    what: "list a folder of 30 files",
    most: 0.25,
    ours: () => ({ name: "ls", arguments: { path: "list" } }),
    theirs: (/** @type {string} */ folder) => ({
      name: "list_directory_with_sizes",
      arguments: { path: join(folder, "list") },
    }),
  },
  edit: {
    what: "edit a file of 1 KB",
    most: 0.6,
    ours: (/** @type {number} */ count) => ({
      name: "edit",
      arguments: { path: "ours.txt", old_text: `at ${count};`, new_text: `at ${count + 1};` },
    }),
    theirs: (/** @type {string} */ folder, /** @type {number} */ count) => ({
      name: "edit_file",
      arguments: {
        path: join(folder, "theirs.txt"),
        edits: [{ oldText: `at ${count};`, newText: `at ${count + 1};` }],
      },
    }),
  },
};

/** @type {readonly import("./shared.mjs").Workload[]} */
export const LATENCY = Object.entries(WORK).flatMap(([name, { what, most, ours, theirs }]) => [
  {
    name: `latency-${name}`,
    what: `${what}, in the library`,
    scale: 1 / CALLS,
    target: within(most, "ms"),
    async prepare(folder) {
      const place = prepared();
      const tools = [read(), ls(), edit()];
      const stateDir = join(folder, "latency-state");
      const toolkit = await createToolkit({ tools, workDir: place, policy: { autonomy: "full" }, stateDir });
      let count = 0;
      return {
        async ours() {
          for (let call = 0; call < CALLS; call++) {
            const { name: tool, arguments: input } = ours(count++);
            await ok(toolkit.call({ name: tool, input }));
          }
        },
        async cleanUp() {
          await toolkit.close();
          rmSync(place, { recursive: true });
        },
      };
    },
  },
  {
    name: `latency-mcp-${name}`,
    what: `${what}, over MCP, beside the filesystem server`,
    scale: 1 / CALLS,
    target: atMost(1),
    async prepare(folder) {
      const place = prepared();
      const options = ["mcp", "--work-dir", place, "--preset", "all", "--autonomy", "full"];
      const handrail = await connected(join(projectRoot, "dist/cli.js"), options, join(folder, "latency-state"));
      const server = await connected(
        join(projectRoot, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"),
        [place],
        join(folder, "latency-state"),
      );
      let [count, theirCount] = [0, 0];
      return {
        async ours() {
          for (let call = 0; call < CALLS; call++) await called(handrail, ours(count++));
        },
        async ceiling() {
          for (let call = 0; call < CALLS; call++) await called(server, theirs(place, theirCount++));
        },
        async cleanUp() {
          await Promise.all([handrail.close(), server.close()]);
          rmSync(place, { recursive: true });
        },
      };
    },
  },
]);

/** Creates a workspace outside the temporary folder, because the sandbox has its own temporary folder. */
function prepared() {
  const place = mkdtempSync(join(homedir(), ".handrail-bench-"));
  mkdirSync(join(place, "list"));
  writeFileSync(join(place, "read.txt"), LINE.repeat(20_480 / LINE.length));
  for (let file = 0; file < 30; file++) writeFileSync(join(place, "list", `${file}.txt`), LINE);
  for (const name of ["ours.txt", "theirs.txt"]) writeFileSync(join(place, name), `${LINE.repeat(36)}at 0;\n`);
  return place;
}

/** @param {string} program @param {readonly string[]} options @param {string} stateHome */
async function connected(program, options, stateHome) {
  const client = new Client({ name: "bench", version: "1" });
  const env = { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", XDG_STATE_HOME: stateHome };
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [program, ...options], env, stderr: "ignore" }),
  );
  return client;
}

/** @param {Client} client @param {{ name: string, arguments: { [name: string]: unknown } }} call */
async function called(client, call) {
  const { isError, content } = await client.callTool(call);
  if (isError === true) throw new Error(`${call.name} failed: ${JSON.stringify(content)}`);
}
