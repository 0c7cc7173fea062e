import { spawnSync } from "node:child_process";
import { lstatSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcess, withLockFile } from "../../../src/core/util/process-lock.ts";
import { temporaryFolder } from "../../support/workspace.ts";

/** The ways in which a process that is gone may have left its lock. */
const LEFT = {
  "a link": (lock: string) => symlinkSync(deadProcess(), lock),
  "a file, of an older version": (lock: string) => writeFileSync(lock, deadProcess()),
};

test.each(Object.entries(LEFT))("the lock of a dead process is taken over: %s", async (_, leave) => {
  const folder = temporaryFolder();
  const lock = join(folder, "lock");
  leave(lock);
  const works = Array.from({ length: 5 }, (__, index) => withLockFile(lock, "the lock", async () => index));
  expect(await Promise.all(works)).toEqual([0, 1, 2, 3, 4]);
  expect(readdirSync(folder)).toEqual([]);
});

test("one work at a time has the lock, and it is gone after work that fails", async () => {
  const lock = join(temporaryFolder(), "lock");
  let working = 0;
  const work = async () => {
    working += 1;
    expect(working).toBe(1);
    await new Promise(setImmediate);
    working -= 1;
    throw new Error("failed");
  };
  for (const ended of await Promise.allSettled([work, work, work].map((each) => withLockFile(lock, "the lock", each))))
    expect(ended).toMatchObject({ status: "rejected", reason: { message: "failed" } });
  expect(lstatSync(lock, { throwIfNoEntry: false })).toBeUndefined();
});

test("the lock of a living process is waited for, and left to it", async () => {
  const lock = join(temporaryFolder(), "lock");
  symlinkSync(thisProcess(), lock);
  await expect(withLockFile(lock, "the lock", async () => undefined, 0)).rejects.toThrow("another process of Handrail");
  expect(lstatSync(lock).isSymbolicLink()).toBe(true);
});

function deadProcess(): string {
  return `${spawnSync("true").pid}:1`;
}
