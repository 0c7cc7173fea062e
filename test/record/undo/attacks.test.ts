import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestRunner, describe, expect, onTestFinished, test } from "vitest";
import { asText } from "../../../src/index.ts";
import { startGit } from "../../../src/record/undo/git.ts";
import { withLock } from "../../../src/record/undo/log.ts";
import { restoreAll } from "../../../src/record/undo/restore.ts";
import { repository, temporaryFolder, workspace } from "../../support/workspace.ts";
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
  await undo();
  expect(readFileSync(join(folder, "a.txt"), "latin1")).toBe(crlf);
  expect(existsSync(join(nested, "file"))).toBe(false);
  expect(readFileSync(join(folder, ".gitattributes"), "latin1")).toBe(attributes);
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
    { path: temporaryFolder(), workDir: folder },
    [
      { path: "a", now: file, past: { ...file, mode: 0o600 } },
      { path: "d/a", now: file, past: undefined },
      { path: "d/in", now: { kind: "folder", mode: 0o755 }, past: undefined },
      { path: "e", now: { kind: "folder", mode: 0o755 }, past: { kind: "folder", mode: 0o777 } },
      { path: "f/new", now: undefined, past: file },
      { path: "../up", now: undefined, past: file },
    ],
    reader,
  );
  expect(failures.map(({ path }) => path).toSorted()).toEqual(["a", "d/a", "d/in", "e", "f/new"]);
  expect([readdirSync(outside), readFileSync(join(outside, "a"), "utf8")]).toEqual([["a", "in"], "outside\n"]);
  expect(readdirSync(folder)).toEqual(["a", "d", "e", "f"]);
});

describe("a file above 50 MB", () => {
  const LARGE = Buffer.alloc(51 * 1_048_576, "a");
  const large = async () => {
    const folder = await workspace({ "small.txt": "one\n" });
    writeFileSync(join(folder, "large.bin"), LARGE);
    return folder;
  };

  test.for([
    "rm large.bin",
    "rm large.bin; mkdir large.bin",
    "mv large.bin other.bin",
    "cp small.txt t; mv t large.bin",
  ])("comes back after %s, and can go again", async (command) => {
    const folder = await large();
    const { run, undo } = await undoing(folder);
    expect(await run(`${command}; echo two > small.txt`)).not.toContain("Not kept");
    const { failures, undo: again } = await undo();
    expect(failures).toEqual([]);
    expect(readdirSync(folder)).toEqual(["large.bin", "small.txt"]);
    expect(readFileSync(join(folder, "large.bin")).equals(LARGE)).toBe(true);
    expect((await undo({ id: again })).failures).toEqual([]);
    expect(readFileSync(join(folder, "small.txt"), "utf8")).toBe("two\n");
  });

  test("that is changed in place is named by the call and by undo, unless the file system clones files", async () => {
    const folder = await large();
    const { run, undo, store } = await undoing(folder);
    const result = await run("echo two > small.txt; echo more >> large.bin");
    const isCloned = readdirSync(join(store, "large")).every((name) => name.startsWith("c"));
    const words = "large.bin (51MB: it was changed in place, and only a link to it could be kept)";
    if (!isCloned) expect(result).toContain(`[Not kept, so undo cannot restore it: ${words}.]`);
    const { preview } = await undo();
    expect(preview.plan.lost).toEqual(isCloned ? [] : [words]);
    expect(readFileSync(join(folder, "small.txt"), "utf8")).toBe("one\n");
  });
});

test("past the limit, the folder with most of the content is left out and named; the rest is undone", async () => {
  const folder = await workspace({ "src/a": "one\n", ".env": "KEY=1\n" });
  mkdirSync(join(folder, "data/set"), { recursive: true });
  for (let n = 0; n < 5; n++) writeFileSync(join(folder, `data/set/${n}`), Buffer.alloc(30_000, n));
  const stateDir = temporaryFolder();
  const asked: string[] = [];
  const { run, undo, store, toolkit } = await undoing(folder, {
    ...{ maxUndoBytes: 65_536, stateDir },
    approver: async (_, { reason = "" }) => {
      asked.push(reason);
      return { answer: "once" };
    },
  });
  const words = "5 files in data/set (146.5KB: undo may take no more (state.undo_mb))";
  expect(await run("echo two > src/a; rm .env")).not.toContain("Not kept");
  expect(await run("cd data && rm -r set", "bash")).toContain(`[Not kept, so undo cannot restore it: ${words}.]`);
  expect(asked.at(-1)).toBe(`Command requires approval: it removes what undo does not keep: ${words}`);
  const { preview, failures } = await undo();
  expect([preview.plan.lost, failures]).toEqual([[words], []]);
  expect([readFileSync(join(folder, "src/a"), "utf8"), existsSync(join(folder, ".env"))]).toEqual(["one\n", true]);
  await toolkit.close();

  writeFileSync(join(folder, "data/set/0"), Buffer.alloc(100_000, "a"));
  const second = await undoing(folder, { maxUndoBytes: 65_536, stateDir });
  await second.run("true");
  const more = await undoing(folder, { maxUndoBytes: 1_000_000, stateDir });
  expect(await more.run("rm data/set/0")).not.toContain("Not kept");
  expect((await more.undo()).preview.plan.lost).toEqual([]);
  expect(readFileSync(join(folder, "data/set/0"))).toHaveLength(100_000);
  expect(existsSync(store)).toBe(true);
});

test("folders that a tool can make again are not kept, and stay; other ignored ones are kept", async () => {
  const folder = await repository({ "package.json": "{}\n", ".gitignore": "node_modules\ndata\n.env\nlib\n" });
  const made = {
    "node_modules/a/index.js": "1",
    "lib/__pycache__/a.pyc": "1",
    "venv/pyvenv.cfg": "1",
    "venv/bin/p": "1",
  };
  const own = { "data/rows.csv": "1,2\n", ".env": "KEY=1\n", "lib/node_modules/mine.txt": "mine\n" };
  for (const [path, content] of Object.entries({ ...made, ...own })) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const { run, undo } = await undoing(folder);
  await run(`rm -rf ${Object.keys({ ...made, ...own }).join(" ")} data venv; echo x > a.txt; mkdir node_modules/new`);
  const { preview, failures } = await undo();
  expect(failures).toEqual([]);
  for (const [path, content] of Object.entries(own)) expect(readFileSync(join(folder, path), "utf8")).toBe(content);
  expect(preview.plan.lost).toEqual(["venv (a tool can make it again)"]);
  expect([existsSync(join(folder, "node_modules/new")), existsSync(join(folder, "a.txt"))]).toEqual([true, false]);
  await run("rm package.json"); // now nothing shows that node_modules can be made again
  await undo();
  expect(existsSync(join(folder, "node_modules/new"))).toBe(true);
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
