// What arrives at the caller of a call that a worker made: the whole result, as if the call had been made here.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asOutcome, asText } from "../../src/core/call/result.ts";
import { moduleSource } from "../../src/tools/plugins/module.ts";
import { mustBeHere } from "../support/here.ts";
import { postgresProblem, postgresServer } from "../support/postgres.ts";
import { redisProblem, redisServer } from "../support/redis.ts";
import { until } from "../support/until.ts";
import { temporaryFolder } from "../support/workspace.ts";
import { machines } from "./machines.ts";

const problem = postgresProblem() ?? redisProblem();
mustBeHere("PostgreSQL and Redis", problem);

/** A module with the tool `count`: it reads a file, and promises a list of numbers. */
const counting = (items: string, returned: string) => `export default {
  name: "count", description: "Counts", touches: ["read"],
  input: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  output: { type: "object", properties: { lines: { type: "array", items: ${items} } }, required: ["lines"] },
  effects: ({ path }) => [{ kind: "read", path }],
  async run({ path }, { backend }) {
    const { size } = await backend.files.stat(path);
    return ${returned};
  },
};
`;

describe.skipIf(problem !== undefined)("the result of a call on a worker", { timeout: 60_000 }, async () => {
  if (problem !== undefined) return;
  const [postgres, redis] = [await postgresServer(), await redisServer()];
  const { worker, caller } = machines(redis.url);

  test("has the data that its output schema promises, and fails on data that the caller's does not allow", async () => {
    const url = await postgres.create("structured");
    const [theirs, ours] = [join(temporaryFolder(), "count.mjs"), join(temporaryFolder(), "count.mjs")];
    const numbers = '{ type: "integer" }';
    writeFileSync(theirs, counting(numbers, 'path === "README.md" ? { lines: [size, 1] } : { lines: ["none"] }'));
    writeFileSync(ours, counting('{ type: "integer", maximum: 99 }', "never"));
    const settings = `policy: { autonomy: full }\nundo: off\ntools: { modules: ["${theirs}"] }\n`;
    const { folder } = await worker(url, [], settings);
    const count = async (module: string, path: string) => {
      const toolkit = await caller(url, { sources: [moduleSource(module, {})] });
      await toolkit.ready;
      return await toolkit.call({ name: "count", input: { path } });
    };
    writeFileSync(join(folder, "long.txt"), "x".repeat(100));
    expect(await count(theirs, "README.md")).toMatchObject({ status: "ok", data: { lines: [10, 1] } });
    expect(asText(await count(theirs, "long.txt"))).toContain("does not fit its output schema");
    expect(await count(ours, "README.md")).toMatchObject({ status: "ok", data: { lines: [10, 1] } });
    writeFileSync(join(folder, "README.md"), "x".repeat(100));
    expect(asText(await count(ours, "README.md"))).toMatch(/^Tool error: tool "count" .* its output schema: .*99/);
  });

  test("that failed, was refused or was stopped has all of its parts", async () => {
    const url = await postgres.create("endings");
    await worker(url, ["--preset", "default"], "policy: { sandbox: off, commands: { deny: ['git *'] } }\nundo: off\n");
    const toolkit = await caller(url, { preset: "default", approver: async () => ({ answer: "once" }) });
    const shell = (command: string, signal?: AbortSignal) =>
      toolkit.call({ name: "shell", input: { command } }, signal === undefined ? {} : { signal });
    const failed = await shell("echo before; exit 3");
    expect(asOutcome(failed)).toEqual({ success: false, output: "before\n", error: "Exit code: 3" });
    expect(failed).toMatchObject({ data: { stdout: "before\n", exit_code: 3 } });
    expect(await shell("git status")).toMatchObject({ status: "denied", by: "policy" });
    const stop = new AbortController();
    const stopped = shell("echo before; touch begun; sleep 600", stop.signal);
    await until("it runs", async () => asText(await shell("ls begun; true")).startsWith("begun"));
    stop.abort();
    expect(asText(await stopped)).toBe("The call was stopped before it finished.\nbefore\n");
  });

  test("is whole when it is longer than what the record keeps of others", async () => {
    const url = await postgres.create("long");
    await worker(url, ["--preset", "default"]);
    const toolkit = await caller(url, { preset: "default" });
    const result = await toolkit.call({ name: "shell", input: { command: "seq 100000" } });
    expect(asText(result)).toContain("\n99999\n100000\n");
  });

  test("protects what a person has changed since the model saw it, on whichever of two workers it comes next", async () => {
    const url = await postgres.create("seen");
    const { folder } = await worker(url);
    await worker(url, ["--work-dir", folder]);
    const toolkit = await caller(url);
    const text = async (name: string, input: object) =>
      asText(await toolkit.call({ name, input: { path: "a.txt", ...input } }));
    for (let round = 0; round < 6; round++) {
      expect(await text("write", { content: `${round}\n` })).toMatch(/^(Created|Replaced) a\.txt/);
      expect(await text("read", {})).toBe(`${round}\n`);
    }
    writeFileSync(join(folder, "a.txt"), "of a person\n");
    expect(await text("write", { content: "x" })).toMatch(/a\.txt has changed since you last read it; it was not/);
    expect(await text("read", {})).toBe("of a person\n");
    expect(await text("write", { content: "x" })).toBe("Replaced a.txt (1B)");
  });
});
