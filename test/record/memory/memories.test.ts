import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import type { NewMemory } from "../../../src/core/contract/memory.ts";
import { openDatabase } from "../../../src/record/db/database.ts";
import { type Engine, libsqlEngine, nodeEngine } from "../../../src/record/db/driver.ts";
import { type MemoriesOptions, openMemories } from "../../../src/record/memory/memories.ts";
import { MEMORY_TABLES } from "../../../src/record/memory/tables.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const newFile = () => join(temporaryFolder(), "memory.db");
const note = (key: string, content: string, storedMs = Date.now()): NewMemory => ({
  ...{ key, content, category: "core", storedMs },
});

function open(options: Partial<MemoriesOptions> = {}) {
  const memories = openMemories({ file: newFile(), scope: "user", mask: (text) => text, ...options });
  onTestFinished(memories.close);
  return memories;
}

/** Returns what is wrong in a file, if anything: each table must have exactly the rows of its memories. */
async function faultsIn(file: string): Promise<readonly string[]> {
  const database = await openDatabase({ file, tables: MEMORY_TABLES });
  onTestFinished(() => database.close());
  const { connection } = database;
  const [counts] = connection.all<{ memories: number; indexed: number; counted: number | null }>(
    `SELECT (SELECT count(*) FROM memories) AS memories, (SELECT count(*) FROM memory_words) AS indexed,
       (SELECT sum(memories) FROM scopes) AS counted`,
  );
  connection.exec("INSERT INTO memory_words (memory_words) VALUES ('integrity-check')");
  const [check] = connection.all<{ integrity_check: string }>("PRAGMA integrity_check");
  const faults = check?.integrity_check === "ok" ? [] : [JSON.stringify(check)];
  if (counts?.memories !== counts?.indexed || counts?.memories !== (counts?.counted ?? 0)) {
    faults.push(JSON.stringify(counts));
  }
  return faults;
}

const engines: readonly (readonly [name: string, engine: Engine])[] = [
  ["libsql", await libsqlEngine()],
  ...(nodeEngine() === undefined ? [] : [["node:sqlite", nodeEngine() as Engine] as const]),
];

describe.each(engines)("memories with %s", (_, engine) => {
  test("are stored, replaced, listed, found and forgotten", async () => {
    const memories = open({ engine });
    await memories.store([note("drink", "Prefers tea."), note("town", "Lives in Kraków.")]);
    await memories.store([note(" drink ", "Prefers coffee.")]);
    expect((await memories.list({ limit: 10 })).map(({ key, content }) => [key, content])).toEqual([
      ["drink", "Prefers coffee."],
      ["town", "Lives in Kraków."],
    ]);
    expect(await memories.recall("tea", 5)).toEqual([]);
    expect((await memories.recall("krakow", 5)).map(({ key }) => key)).toEqual(["town"]);
    for (const all of ["*", " ", ""]) expect((await memories.recall(all, 5)).length).toBe(2);
    expect([await memories.forget("town"), await memories.forget("town")]).toEqual([true, false]);
    expect(await memories.recall("krakow", 5)).toEqual([]);
    expect(await memories.recall("karkow", 5)).toEqual([]);
    expect(await memories.get("town")).toBeUndefined();
  });

  test("store any text", async () => {
    const file = newFile();
    const memories = open({ engine, file });
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).filter((each) => each.trim() !== "");
    const changes = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.option(text)), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(changes, text, async (all, query) => {
        for (const [key, content] of all) {
          if (content === null) await memories.forget(key);
          else await memories.store([note(key, content)]);
          const kept = content?.replaceAll("\0", "\ufffd").replaceAll(/\p{Cs}/gu, "\ufffd");
          expect((await memories.get(key))?.content).toBe(kept);
        }
        await memories.recall(query, 5);
      }),
      { numRuns: cases(4) },
    );
    expect(await faultsIn(file)).toEqual([]);
  });
});

test("memories of one workspace are not found in another one, nor in the scope user", async () => {
  const file = newFile();
  const here = open({ file, scope: "workspace", workspace: "local:/here" });
  const there = open({ file, scope: "workspace", workspace: "local:/there" });
  const user = open({ file });
  await here.store([note("port", "The harbour of Rotterdam.")]);
  await there.store([note("port", "Port 8080.")]);
  for (const [memories, found] of [
    [here, ["The harbour of Rotterdam."]],
    [there, []],
    [user, []],
  ] as const) {
    for (const query of ["harbour", "harbuor"]) {
      expect((await memories.recall(query, 5)).map(({ content }) => content)).toEqual(found);
    }
  }
  expect(await user.list({ limit: 5 })).toEqual([]);
  expect(await there.forget("port")).toBe(true);
  expect((await here.get("port"))?.content).toBe("The harbour of Rotterdam.");
});

test("secrets are masked before they are stored, and in queries", async () => {
  const memories = open({ mask: (text) => text.replaceAll("hunter22", "[masked: secret]") });
  await memories.store([note("login hunter22", "The password is hunter22.")]);
  expect(await memories.list({ limit: 5 })).toMatchObject([
    { key: "login [masked: secret]", content: "The password is [masked: secret]." },
  ]);
  expect(await memories.recall("hunter22", 5)).toEqual([]);
  expect(await memories.forget("login hunter22")).toBe(true);
});

test("one memory that is too long rejects all of a batch", async () => {
  const memories = open();
  const tooLong = note("long", "x".repeat(16_385));
  await expect(memories.store([note("short", "x"), tooLong])).rejects.toThrow(
    'The content of the memory "long" has 16385 characters: expected 1 to 16384',
  );
  await expect(memories.store([note("", "x")])).rejects.toThrow("A memory's key has 0 characters: expected 1 to 200");
  expect(await memories.list({ limit: 5 })).toEqual([]);
});

test("two processes write at the same time, and acknowledged memories survive kill -9", async () => {
  const stateDir = temporaryFolder();
  const program = pathToFileURL(join(projectRoot, "dist", "index.js")).href;
  const script = `
    const { createToolkit } = await import(${JSON.stringify(program)});
    const { memories } = await createToolkit({ stateDir: process.argv[1], preset: "none", sandbox: "off" });
    for (let number = 0; ; number++) {
      const key = process.argv[2] + number;
      await memories.store([{ key, content: "kept " + key, category: "daily" }, { key: "last", content: "kept " + key, category: "daily" }]);
      console.log(key);
    }`;
  const acknowledged: string[] = [];
  const writers = ["one", "two"].map((name) => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, stateDir, name], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return { child, closed: once(child, "close"), lines: createInterface({ input: child.stdout }) };
  });
  await Promise.all(
    writers.map(async ({ child, closed, lines }) => {
      let count = 0;
      for await (const line of lines) {
        acknowledged.push(line);
        if (++count === 20) child.kill("SIGKILL");
      }
      await closed;
    }),
  );
  const file = join(stateDir, "memory.db");
  const memories = open({ file });
  const kept = new Map((await memories.list({ limit: 10_000 })).map(({ key, content }) => [key, content]));
  expect(acknowledged.length).toBeGreaterThanOrEqual(40);
  expect(acknowledged.filter((key) => kept.get(key) !== `kept ${key}`)).toEqual([]);
  expect(kept.has(kept.get("last")?.slice(5) ?? "")).toBe(true); // both memories of one call, or none
  expect((await memories.recall(acknowledged[0] ?? "", 5)).map(({ key }) => key)).toContain(acknowledged[0]);
  expect(await faultsIn(file)).toEqual([]);
});
