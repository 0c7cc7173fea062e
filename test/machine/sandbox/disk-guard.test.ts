import { mkdirSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { guardDisk } from "../../../src/machine/sandbox/limits/disk-guard.ts";
import { mustBeHere } from "../../support/here.ts";
import { until } from "../../support/until.ts";
import { temporaryFolder } from "../../support/workspace.ts";
import { bundled } from "./bundled.ts";
import { run } from "./contained.ts";

const MEBIBYTE = 1024 * 1024;
const mounted: string[] = [];

afterAll(() => {
  for (const folder of mounted) run(["umount", folder]);
});

/** Mounts a disk with this many MiB. */
function disk(size: number): string {
  const folder = join(temporaryFolder(), "disk");
  mkdirSync(folder);
  const { status, stderr } = run(["mount", "-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", folder]);
  if (status !== 0) throw new Error(stderr);
  mounted.push(folder);
  return folder;
}

function canMount(): string | undefined {
  try {
    disk(1);
    return undefined;
  } catch (error) {
    return `no disk can be mounted (${String(error).trim()})`;
  }
}

const problem = canMount();
const fill = (folder: string, mebibytes: number, name = "file") =>
  writeFileSync(join(folder, name), Buffer.alloc(mebibytes * MEBIBYTE));

/** A guard, and how often it has reported a full disk. */
function guarded(folders: readonly string[], diskFree: number) {
  let times = 0;
  const { stop } = guardDisk({ folders, diskFree, full: () => (times += 1) });
  return { stop, times: () => times };
}

/**
 * Waits until another guard, of a disk that shrinks all the time, has reported: a guard that started before has looked
 * meanwhile.
 */
async function someLooks(): Promise<void> {
  const folder = disk(64);
  const other = guarded([folder], 60 * MEBIBYTE);
  let written = 0;
  await until("the other guard has spoken", () => {
    if (written < 60) fill(folder, 1, String(++written));
    return other.times() === 1;
  });
}

mustBeHere("a full disk", problem);

describe.skipIf(problem !== undefined)("a disk of its own", () => {
  test("is reported full once, when less is free than required", async () => {
    const folder = disk(64);
    const guard = guarded([disk(64), folder], 20 * MEBIBYTE);
    fill(folder, 40);
    await someLooks();
    expect(guard.times()).toBe(0);
    fill(folder, 10, "more");
    await until("it is full", () => guard.times() === 1);
    fill(folder, 10, "most");
    await someLooks();
    expect(guard.times()).toBe(1);
  });

  test("that has too little from the start is reported when it has shrunk by more than 16 MiB", async () => {
    const folder = disk(64);
    const guard = guarded([folder], 1024 * MEBIBYTE);
    await someLooks();
    fill(folder, 15);
    await someLooks();
    expect(guard.times()).toBe(0);
    fill(folder, 2, "more");
    await until("it is full", () => guard.times() === 1);
  });

  test("is not reported after the guard was stopped", async () => {
    const folder = disk(64);
    const guard = guarded([folder], 20 * MEBIBYTE);
    guard.stop();
    fill(folder, 60);
    await someLooks();
    expect(guard.times()).toBe(0);
  });
});

test("that is a missing folder is skipped", async () => {
  const folder = temporaryFolder();
  const { bavail, bsize } = await statfs(folder);
  const guard = guarded([join(folder, "never"), folder], 0);
  const full = guarded([join(folder, "never")], 2 * bavail * bsize);
  if (problem === undefined) await someLooks();
  expect([guard.times(), full.times()]).toEqual([0, 0]);
  guard.stop();
  full.stop();
});

test("with slightly more than required is reported soon after that is written", async () => {
  const folder = temporaryFolder();
  const { bavail, bsize } = await statfs(folder);
  const guard = guarded([folder], bavail * bsize - 8 * MEBIBYTE);
  await statfs(folder); // completes after the guard's first look, which has read the disk by then
  let written = 0;
  await until("it is full", () => {
    if (written < 10) fill(folder, 8, String(++written)); // more than 8 MiB, in case other processes free space
    return guard.times() > 0;
  });
  expect(guard.times()).toBe(1);
});

test("a guard keeps no process alive", async () => {
  const module = await bundled("machine/sandbox/limits/disk-guard.ts");
  const script = `import { guardDisk } from ${JSON.stringify(module)}; guardDisk({ folders: ["/"], diskFree: 0, full() {} }); console.log("watching")`;
  const { status, stdout } = run([process.execPath, "--input-type=module", "-e", script]);
  expect([status, stdout]).toEqual([0, "watching\n"]);
});
