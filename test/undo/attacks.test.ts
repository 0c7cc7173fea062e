import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestRunner, describe, expect, onTestFinished, test } from "vitest";
import { asText } from "../../src/index.ts";
import { startGit } from "../../src/undo/git.ts";
import { withLock } from "../../src/undo/log.ts";
import { restoreAll } from "../../src/undo/restore.ts";
import { until } from "../support/until.ts";
import { repository, temporaryFolder, workspace } from "../support/workspace.ts";
import { undoing } from "./undoing.ts";

test("no filter, hook, monitor or conversion of the project is used, and bytes are unchanged", async () => {
  const crlf = "one\r\ntwo\n$Id$\n";
  const folder = await repository({ "a.txt": crlf });
  const marker = join(temporaryFolder(), "ran");
  const evil = `sh -c 'echo ran > ${marker}; cat'`;
  const nested = join(folder, "nested");
  mkdirSync(nested);
  execFileSync("git", ["init", "-q", nested]);
  for (const [at, key, value] of [
    [folder, "filter.evil.clean", evil],
    [folder, "filter.evil.smudge", evil],
    [folder, "filter.evil.process", evil],
    [folder, "core.fsmonitor", evil],
    [folder, "core.autocrlf", "true"],
    [nested, "core.fsmonitor", evil],
  ] as const) {
    execFileSync("git", ["-C", at, "config", key, value]);
  }
  const attributes =
    "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16\n[attr]worse filter=evil\n* worse\n";
  writeFileSync(join(folder, ".gitattributes"), attributes);
  const { run, undo } = await undoing(folder);
  await run("echo changed > a.txt; echo x > nested/file; rm .gitattributes");
  const { preview } = await undo();
  expect(readFileSync(join(folder, "a.txt"), "latin1")).toBe(crlf);
  expect(readFileSync(join(folder, ".gitattributes"), "latin1")).toBe(attributes);
  expect(preview.point.unkept).toEqual(["nested is a repository of its own"]);
  expect(existsSync(marker)).toBe(false);
});

test("a folder that has become a link is not followed", async () => {
  const [folder, outside] = [await workspace({ "d/a": "one\n", "e/a": "one\n" }), await workspace({ a: "outside\n" })];
  const { run, undo } = await undoing(folder);
  await run(`echo two > d/a; rm -r e; ln -s ${outside} e`);
  rmSync(join(folder, "d"), { recursive: true });
  symlinkSync(outside, join(folder, "d")); // by somebody else
  const { failures } = await undo({ force: true });
  expect(failures).toEqual([{ path: "d/a", reason: "one of its parent folders is now a link or a file" }]);
  expect(readFileSync(join(folder, "e/a"), "utf8")).toBe("one\n"); // the tool's own link is gone
  expect([readdirSync(outside), readFileSync(join(outside, "a"), "utf8")]).toEqual([["a"], "outside\n"]);
});

test("a path that is replaced with a link after planning is not followed", async () => {
  const [folder, outside] = [await workspace({}), await workspace({ a: "outside\n", "in/b": "outside\n" })];
  for (const name of ["d", "e", "f"]) symlinkSync(outside, join(folder, name));
  symlinkSync(join(outside, "a"), join(folder, "a"));
  const file = { kind: "file", id: "0".repeat(40), mode: 0o777 } as const;
  const reader = { read: async () => Buffer.from("written"), close: () => {} };
  const failures = await restoreAll(
    folder,
    [
      { path: "a", now: file, past: { ...file, mode: 0o600 } },
      { path: "d/a", now: file, past: undefined },
      { path: "d/in", now: { kind: "folder", mode: 0o755 }, past: undefined },
      { path: "e", now: { kind: "folder", mode: 0o755 }, past: { kind: "folder", mode: 0o777 } },
      { path: "f/new", now: undefined, past: file },
      { path: "../up", now: undefined, past: file },
      { path: ".GIT/config", now: undefined, past: file },
    ],
    reader,
  );
  expect(failures.map(({ path }) => path).toSorted()).toEqual(["a", "d/a", "d/in", "e", "f/new"]);
  expect([readdirSync(outside), readFileSync(join(outside, "a"), "utf8")]).toEqual([["a", "in"], "outside\n"]);
  expect(readdirSync(folder)).toEqual(["a", "d", "e", "f"]);
});

test("large files are omitted and named, and the store stays within its limit", async () => {
  const folder = await workspace({ "small.txt": "one\n" });
  writeFileSync(join(folder, "large.bin"), Buffer.alloc(51 * 1_048_576));
  const { run, undo } = await undoing(folder);
  await run("echo two > small.txt; echo > large.bin");
  const { preview } = await undo();
  expect(preview.point.unkept).toEqual(["large.bin has 51MB, more than 50MB"]);
  expect(readFileSync(join(folder, "small.txt"), "utf8")).toBe("one\n");
});

describe("past the limit", () => {
  const OFF = /\[Undo is off: .* has 68\.\dKB of content to keep, and undo may take 64KB\.\]$/;
  const calling = ({ toolkit }: Pick<Awaited<ReturnType<typeof undoing>>, "toolkit">) => {
    return async (thread: string, name = "anything") => {
      const input = name === "write" ? { path: "b", content: "x" } : { command: "true" };
      return asText(await toolkit.call({ name, input, thread }));
    };
  };

  test("each thread is told once, and no later process looks at the files again", async () => {
    const full = await workspace({ "a.bin": Buffer.alloc(70_000, "a") });
    const stateDir = temporaryFolder();
    const first = await undoing(full, { maxUndoBytes: 65_536, stateDir });
    const act = calling(first);
    expect(await act("one")).toMatch(OFF);
    expect(await act("one")).not.toContain("Undo");
    expect(await act("one", "write")).not.toContain("Undo");
    expect(await act("two", "write")).toMatch(OFF);
    expect(await first.points.list()).toEqual([]);
    const record = readFileSync(join(first.store, "full.json"), "utf8");
    const second = await undoing(full, { maxUndoBytes: 65_536, stateDir });
    expect(await calling(second)("one")).toMatch(OFF);
    expect(readFileSync(join(first.store, "full.json"), "utf8")).toBe(record);
    const more = await undoing(full, { maxUndoBytes: 1_000_000, stateDir });
    expect(await calling(more)("one")).not.toContain("Undo");
    await expect.poll(() => more.points.list()).toHaveLength(1); // a busy machine may finish after the call
    expect(existsSync(join(first.store, "full.json"))).toBe(false);
  });

  test("it is tried again after an hour", async () => {
    const full = await workspace({ "a.bin": Buffer.alloc(70_000, "a") });
    const stateDir = temporaryFolder();
    const first = await undoing(full, { maxUndoBytes: 65_536, stateDir });
    expect(await calling(first)("one")).toMatch(OFF);
    const record = join(first.store, "full.json");
    writeFileSync(record, readFileSync(record, "utf8").replace(/"at":\d+/, `"at":${Date.now() - 3_700_000}`));
    rmSync(join(full, "a.bin"));
    const second = await undoing(full, { maxUndoBytes: 65_536, stateDir });
    expect(await calling(second)("one")).not.toContain("Undo");
    expect(existsSync(record)).toBe(false);
  });

  test("what is found while nobody waits any more is told with the next call", async () => {
    const folder = await workspace({ a: "one\n" });
    const { toolkit, store, run } = await undoing(folder, { maxUndoBytes: 65_536 });
    await run("true");
    writeFileSync(join(folder, "a.bin"), Buffer.alloc(70_000, "a"));
    const act = calling({ toolkit });
    await withLock(store, async () => {
      expect(await act("one")).toContain("This act cannot be undone: the state before it was not kept");
    });
    await until("the limit is found", () => existsSync(join(store, "full.json")));
    expect(await act("one")).toMatch(OFF);
    expect(await act("one")).not.toContain("Undo");
  });
});

test("old states are removed for new ones", async () => {
  const folder = await workspace({});
  const { run, undo, newTurn, points, store } = await undoing(folder, { maxUndoBytes: 400_000 });
  for (let turn = 0; turn < 8; turn++) {
    expect(await run(`head -c 90000 /dev/urandom > random; echo ${turn} > turn`)).not.toContain("Undo");
    newTurn();
  }
  expect((await points.list()).length).toBeLessThan(8);
  await undo();
  expect(readFileSync(join(folder, "turn"), "utf8")).toBe("6\n");
  const check = startGit(store, ["fsck", "--no-dangling", "--connectivity-only"]);
  expect(await new Promise((resolve) => check.on("close", resolve))).toBe(0);
});

test("an act waits at most ten seconds; then it runs, and its result says that it cannot be undone", async () => {
  const folder = await workspace({ a: "one\n" });
  const { run, newTurn, store, toolkit } = await undoing(folder);
  await run("true");
  newTurn();
  let release = () => {};
  const held = withLock(store, () => new Promise<void>((resolve) => (release = resolve)));
  const result = await toolkit.call({ name: "anything", input: { command: "echo two > a" }, turn: "late" });
  release();
  await held;
  expect(asText(result)).toContain(
    "[This act cannot be undone: the state before it was not kept (keeping the files took too long).]",
  );
  expect(readFileSync(join(folder, "a"), "utf8")).toBe("two\n");
});

test("if the disk is full an act runs, and its result says that it cannot be undone", async () => {
  const folder = await workspace({ a: "one\n" });
  const { store, toolkit } = await undoing(folder);
  const problem = mounted(["-t", "tmpfs", "-o", "size=16m", "tmpfs", store]);
  if (problem !== undefined) return TestRunner.getCurrentTest()?.context.skip(problem);
  const result = await toolkit.call({ name: "anything", input: { command: "echo two > a" } });
  expect(asText(result)).toMatch(
    /\[This act cannot be undone: the state before it was not kept \(the disk with .* is nearly full\)\.\]/,
  );
});

/** Mounts something until the test has ended. Returns why it cannot; only root can. */
function mounted(args: readonly string[]): string | undefined {
  const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
  if (status !== 0) return `nothing can be mounted here: ${stderr.trim()}`;
  onTestFinished(() => void spawnSync("umount", ["-l", args.at(-1) ?? ""]));
  return undefined;
}
