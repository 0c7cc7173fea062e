import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { asText } from "../../src/core/call/result.ts";
import { createRateLimit } from "../../src/policy/rate.ts";
import { layout } from "../support/layout.ts";
import { temporaryFolder } from "../support/workspace.ts";

const HOUR = 3_600_000;

test("the given number of acts run in any hour, and the next is told when it may", async () => {
  const folder = join(temporaryFolder(), "acts");
  let at = Date.UTC(2030, 0, 1);
  const limit = createRateLimit({ max: 2, folder, now: () => at });
  expect(await limit.take()).toBeUndefined();
  at += HOUR / 2;
  expect(await limit.take()).toBeUndefined();
  at += HOUR / 4;
  expect(await limit.take()).toBe(
    "Rate limit exceeded: 2 in an hour (max_actions_per_hour). The next act is possible in 15 minutes. Read-only calls still work.",
  );
  at += HOUR / 4;
  expect(await limit.take()).toBeUndefined(); // the first is an hour old
  expect(await limit.take()).toContain("in 30 minutes");
  at += HOUR;
  expect(await limit.take()).toBeUndefined();
  expect(await readdir(folder)).toHaveLength(1); // old ones are removed
});

test("of many concurrent acts no more run than the limit allows, also across toolkits with one folder", async () => {
  const folder = join(temporaryFolder(), "acts");
  const limits = Array.from({ length: 4 }, () => createRateLimit({ max: 10, folder }));
  const taken = await Promise.all(Array.from({ length: 10 }, () => limits.map(({ take }) => take())).flat());
  const through = taken.filter((refused) => refused === undefined).length;
  expect(through).toBeGreaterThan(0);
  expect(through).toBeLessThanOrEqual(10);
  expect(await readdir(folder)).toHaveLength(through);
});

test.each([-1, 1.5, Number.NaN])("%s is refused as a limit", (max) => {
  expect(() => createRateLimit({ max, folder: "/nowhere" })).toThrow(RangeError);
});

test("refused, declined and looking calls do not count; a later toolkit of the same state continues", async () => {
  const world = await layout();
  await world.file("a.txt", "a\n");
  const answers = ["refuse", "once"] as const;
  let asked = 0;
  const make = () =>
    world.toolkit({
      preset: "coding",
      policy: { maxActionsPerHour: 2 },
      approver: async () => ({ answer: answers[asked++] ?? "once" }),
    });
  const toolkit = await make();
  const write = (path: string, by = toolkit) => by.call({ name: "write", input: { path, content: "x" } });
  expect(await write("/etc/x")).toMatchObject({ status: "denied", by: "policy" });
  expect(await write(".git/config")).toMatchObject({ status: "denied", by: "person" });
  for (let index = 0; index < 3; index++) {
    expect(await toolkit.call({ name: "read", input: { path: "a.txt" } })).toMatchObject({ status: "ok" });
  }
  expect(await write("1.txt")).toMatchObject({ status: "ok" });
  await toolkit.close();
  const later = await make();
  expect(await write("2.txt", later)).toMatchObject({ status: "ok" });
  const third = await write("3.txt", later);
  expect(third).toMatchObject({ status: "denied", by: "policy" });
  expect(asText(third)).toContain("Rate limit exceeded");
  const before = asked;
  expect(await write(".git/config", later)).toMatchObject({ status: "denied", by: "policy" });
  expect(asked).toBe(before); // nobody is asked about a call that cannot run
  expect(await later.call({ name: "read", input: { path: "a.txt" } })).toMatchObject({ status: "ok" });
  expect(await later.judge([{ kind: "write", path: "x" }])).toMatchObject({
    verdict: "deny",
    rule: "max_actions_per_hour",
  });
});

test("0 allows no act, and all looking", async () => {
  const world = await layout();
  await world.file("a.txt", "a\n");
  const toolkit = await world.toolkit({ preset: "coding", policy: { maxActionsPerHour: 0, autonomy: "full" } });
  const result = await toolkit.call({ name: "write", input: { path: "b.txt", content: "x" } });
  expect(asText(result)).toContain("Rate limit exceeded: max_actions_per_hour is 0");
  expect(await toolkit.call({ name: "read", input: { path: "a.txt" } })).toMatchObject({ status: "ok" });
});
