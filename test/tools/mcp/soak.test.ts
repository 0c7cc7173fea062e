// MCP servers under load that exit at random: no call hangs, nothing leaks, and no other tool is affected.
// SOAK_SECONDS=600 runs for ten minutes.
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { environmentOf } from "../../../src/machine/spawner/kill-tree.ts";
import { cases } from "../../support/cases.ts";
import { until } from "../../support/until.ts";
import { foreign, withServers } from "./servers.ts";

const SECONDS = Number(process.env["SOAK_SECONDS"] ?? cases(1));
const MARK = "FOREIGN_SOAK";

test("servers that are killed at random", { timeout: SECONDS * 1_000 + 60_000 }, async () => {
  const names = ["one", "two", "three"] as const;
  const servers = Object.fromEntries(names.map((name) => [name, foreign("2025-11-25", { env: { [MARK]: name } })]));
  const { toolkit } = await withServers({ ...servers, steady: foreign("2026-07-28") });
  const started = performance.now();
  /** Servers that have answered since they were last killed: one that is killed too often is given up. */
  const served = new Set<string>();
  const counted = { ok: 0, failed: 0, killed: 0, steady: 0 };
  const isOver = () => performance.now() - started > SECONDS * 1_000 && counted.killed > 0;
  const descriptors = () => readdirSync("/proc/self/fd").length;
  const megabytes = () => Math.round(process.memoryUsage().rss / 1_048_576);
  const before = { descriptors: descriptors(), megabytes: megabytes(), servers: living().length };

  const caller = async (name: string) => {
    while (!isOver()) {
      const result = await toolkit.call({ name: `mcp__${name}__echo`, input: { words: name } });
      if (result.status === "ok") {
        counted.ok++;
        served.add(name);
      } else counted.failed++;
      if (name === "steady") {
        expect(result).toMatchObject({ status: "ok", data: "steady" });
        counted.steady++;
      }
      // Calls that fail at once are not repeated in a tight loop.
      if (result.status !== "ok") await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const killer = async () => {
    while (!isOver()) {
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 800));
      const [name] = names.filter((each) => served.has(each)).toSorted(() => Math.random() - 0.5);
      const [pid] = name === undefined ? [] : living(name);
      if (name === undefined || pid === undefined) continue;
      process.kill(pid, "SIGKILL");
      served.delete(name);
      counted.killed++;
    }
  };
  await Promise.all([...names.map(caller), ...names.map(caller), caller("steady"), killer()]);
  expect(counted.ok).toBeGreaterThan(0);
  expect(counted.steady).toBeGreaterThan(0);
  expect(counted.killed).toBeGreaterThan(0);
  for (const name of names) {
    const answers = async () => (await toolkit.call({ name: `mcp__${name}__echo`, input: { words: "on" } })).status;
    await until(`${name} answers again`, async () => (await answers()) === "ok");
  }
  await toolkit.close();
  await until("no server is left", () => living().length === 0);
  const after = { descriptors: descriptors(), megabytes: megabytes(), servers: living().length };
  if (SECONDS > 10) process.stderr.write(`soak: ${JSON.stringify({ SECONDS, ...counted, before, after })}\n`);
  expect(after.descriptors).toBeLessThan(before.descriptors + 20);
  expect(after.megabytes).toBeLessThan(before.megabytes + 300);
});

/** Returns the servers of this test, or the one with a name, by process id. */
function living(name = ""): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && environmentOf(pid).includes(`${MARK}=${name}`));
}
