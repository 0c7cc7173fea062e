/**
 * A backend of your own: this machine, with a line in a log for each program. The suite tests each sentence of the
 * contract on it, here with Node's test runner.
 *
 * Run: node --test examples/16-own-backend.mjs
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { asText, createToolkit, local } from "handrail";
import { backendSuite } from "handrail/testing";

const folder = await mkdtemp(join(tmpdir(), "handrail-example-"));
const workDir = join(folder, "work");
await mkdir(workDir);

/**
 * @param {(line: string) => void} log
 * @returns {Promise<import("handrail").Backend>}
 */
async function logged(log) {
  const inner = await local({ workDir, home: folder, outputFolder: join(folder, "outputs") });
  return {
    name: `logged(${inner.name})`,
    workDir: inner.workDir,
    home: inner.home,
    ...(inner.programFolders && { programFolders: inner.programFolders }),
    files: inner.files,
    async spawn(command) {
      log(command.argv.join(" "));
      return inner.spawn(command);
    },
    search: (query) => inner.search(query),
    find: (query) => inner.find(query),
    ...(inner.detached && { detached: inner.detached }),
    close: () => inner.close(),
  };
}

backendSuite({ name: "logged", open: () => logged(() => {}), detached: true }, { describe, test, afterAll: after });

void test("a toolkit uses it like any other", async () => {
  /** @type {string[]} */
  const lines = [];
  const toolkit = await createToolkit({
    ...{ preset: "coding", target: await logged((line) => lines.push(line)), stateDir: join(folder, "state") },
    approver: async () => ({ answer: "once" }),
  });
  const result = await toolkit.call({ name: "bash", input: { command: "echo hello" } });
  assert.equal(asText(result), "hello\n");
  assert.ok(lines.some((line) => line.includes("hello")));
  await toolkit.close();
});

after(() => rm(folder, { recursive: true }));
