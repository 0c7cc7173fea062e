/**
 * A policy of your own, beside the standard one. It sees what a call touches, and allows, asks or denies. The strictest
 * decision of all policies counts, so it can tighten and never loosen.
 *
 * Run: node examples/15-policy-in-code.mjs
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asText, createToolkit } from "handrail";

const workDir = await mkdtemp(join(tmpdir(), "handrail-example-"));
await mkdir(join(workDir, "migrations"));
await writeFile(join(workDir, "migrations", "001.sql"), "create table a (b int);\n");

/**
 * Migrations that exist are never changed; a new one needs a person. No decision (undefined) leaves a call to the others.
 *
 * @type {import("handrail").Policy}
 */
const migrations = async ({ effects }) => {
  const writes = effects.filter((effect) => effect.kind === "write");
  const touched = writes.filter(({ real = "" }) => real.startsWith(join(workDir, "migrations")));
  if (touched.length === 0) return undefined;
  if (touched.every(({ isNew }) => isNew)) {
    return { verdict: "ask", risk: "medium", rule: "migrations", reason: "A new migration runs on the next release." };
  }
  return { verdict: "deny", risk: "high", rule: "migrations", reason: "Migrations are not changed. Write a new one." };
};

/** @type {string[]} */
const asked = [];
const toolkit = await createToolkit({
  ...{ preset: "coding", workDir, stateDir: `${workDir}-state`, policies: [migrations] },
  approver: async (_, decision) => {
    asked.push(decision.reason ?? "");
    return { answer: "once" };
  },
});
/**
 * @param {string} path
 * @param {string} content
 */
const write = async (path, content) => asText(await toolkit.call({ name: "write", input: { path, content } }));

assert.match(await write("notes.txt", "free\n"), /^Wrote|^Created/);
assert.deepEqual(asked, []);

assert.match(await write("migrations/002.sql", "create table c (d int);\n"), /^Wrote|^Created/);
assert.deepEqual(asked, ["A new migration runs on the next release."]);

const denied = await write("migrations/001.sql", "drop table a;\n");
assert.match(denied, /Migrations are not changed\. Write a new one\./);
assert.equal(await readFile(join(workDir, "migrations", "001.sql"), "utf8"), "create table a (b int);\n");
console.log(denied);

await toolkit.close();
await rm(workDir, { recursive: true });
await rm(`${workDir}-state`, { recursive: true, force: true });
