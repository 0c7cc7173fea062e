// Plugins under load that exit at random: no call hangs, nothing leaks, and no other tool is affected. SOAK_SECONDS=600
// runs for ten minutes.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { plugin } from "../../../src/tools/plugins/plugin.ts";
import { cases } from "../../support/cases.ts";
import { until } from "../../support/until.ts";
import { toolkitWith, workspace } from "../../support/workspace.ts";

const SECONDS = Number(process.env["SOAK_SECONDS"] ?? cases(1));
/** The maximum duration of a call, which may have to wait for a restarted plugin. Milliseconds. */
const LONGEST = 15_000;

const descriptors = () => readdirSync("/proc/self/fd").length;
const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!;

test(
  "plugins that exit at random lose no call and leave nothing behind",
  { timeout: SECONDS * 1_000 + 60_000 },
  async () => {
    const zoo = join(projectRoot, "test/fixtures/plugins/zoo.mjs");
    const names = ["one", "two", "three"];
    const toolkit = await toolkitWith({
      preset: "readonly",
      workDir: await workspace({ "a.txt": "here" }),
      policy: { autonomy: "full" },
      sources: names.map((name) =>
        plugin({ path: process.execPath, args: [zoo, "well", `${name}_`], name, restartMs: 5, quietMs: 3_000 }),
      ),
    });
    await toolkit.ready;
    const memory: number[] = [];
    let before = 0;
    let calls = 0;
    let failed = 0;
    let slowest = 0;
    const end = Date.now() + SECONDS * 1_000;
    const work = async (worker: number) => {
      while (Date.now() < end) {
        const isOther = worker === 0;
        const deadly = Math.random() < 0.03 ? pick(["die", "die", "huge", "partial", "noise", "twice"]) : "echo";
        const call = isOther
          ? { name: "read", input: { path: "a.txt" } }
          : { name: `${pick(names)}_${deadly}`, input: { text: "x" } };
        await nextTurn(); // reads of a small file alone never yield to the event loop
        const started = performance.now();
        const result = await toolkit.call(call);
        slowest = Math.max(slowest, performance.now() - started);
        calls++;
        if (isOther) expect(result).toMatchObject({ status: "ok" });
        else if (result.status !== "ok") failed++;
        expect(["ok", "failed"]).toContain(result.status);
        if (calls % 1_000 === 0) memory.push(process.memoryUsage().rss);
        if (calls === 500) before = descriptors();
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, worker) => work(worker)));
    await until("it answers again", async () => (await toolkit.call({ name: "one_echo", input: {} })).status === "ok");
    const [early = 0, late = 0] = [memory.at(Math.floor(memory.length / 4)), memory.at(-1)];
    if (SECONDS > 10)
      console.log({
        SECONDS,
        calls,
        failed,
        slowest: Math.round(slowest),
        rssMB: [early, late].map((each) => Math.round(each / 1e6)),
      });
    expect(slowest).toBeLessThan(LONGEST);
    if (before > 0) expect(descriptors()).toBeLessThan(before + 10);
    expect(late - early).toBeLessThan(150_000_000);
    await toolkit.close();
    expect(readdirSync("/proc").filter((pid) => commandOf(pid).includes(`${zoo}\0well\0one_`))).toEqual([]);
  },
);

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
