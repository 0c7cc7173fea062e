import { spawn, spawnSync } from "node:child_process";
import { describe, expect, onTestFinished, test } from "vitest";
import { livenessOf, startByPs, thisProcess } from "../../../src/machine/programs/process-identity.ts";
import { isAlive, until } from "../../support/until.ts";

function sleeper() {
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

describe("a recorded process identity", () => {
  test("is alive while the process runs, and dead afterwards, also as a zombie", async () => {
    expect(livenessOf(thisProcess())).toBe("alive");
    expect(livenessOf({ ...thisProcess(), pid: spawnSync("true").pid })).toBe("dead");
    const child = spawn("sh", ["-c", "sleep 0 & exec sleep 60"], { stdio: "ignore" });
    onTestFinished(() => void child.kill("SIGKILL"));
    const unreaped = () => zombieOf(child.pid ?? 0);
    await until("there is a zombie", () => unreaped() !== undefined);
    expect(await isAlive(unreaped() ?? 0)).toBe(false);
    expect(livenessOf({ ...thisProcess(), pid: unreaped() ?? 0 })).toBe("dead");
  });

  test("is dead when its pid was reused, and after a reboot", () => {
    const { pid } = sleeper();
    expect(livenessOf({ ...thisProcess(), pid: pid ?? 0 })).toBe("dead");
    expect(livenessOf({ ...thisProcess(), boot: "before" })).toBe("dead");
  });

  test("is unknown for another host or container", () => {
    expect(livenessOf({ ...thisProcess(), host: "elsewhere", boot: "before" })).toBe("unknown");
    expect(livenessOf({ ...thisProcess(), pidNamespace: "pid:[1]", pid: 99_999_999 })).toBe("unknown");
  });
});

test("without /proc, ps returns the same start time each time, and nothing when the process has ended", async () => {
  const child = sleeper();
  const pid = child.pid ?? 0;
  const found = startByPs(pid);
  expect(found).toEqual({ start: expect.stringMatching(/^\w{3} \w{3} +\d+ [\d:]{8} \d{4}$/), ended: false });
  expect(startByPs(pid)).toEqual(found);
  child.kill("SIGKILL");
  await new Promise((resolve) => child.once("exit", resolve));
  expect(startByPs(pid)).toBeUndefined();
});

/** Returns a child of this process that has ended and was not reaped. */
function zombieOf(parent: number): number | undefined {
  const { stdout } = spawnSync("ps", ["-o", "pid=,state=", "--ppid", String(parent)], { encoding: "utf8" });
  const pid = /^\s*(\d+)\s+Z/m.exec(stdout)?.[1];
  return pid === undefined ? undefined : Number(pid);
}
