import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shown } from "../../../src/record/undo/paths.ts";
import { startGit } from "../../../src/record/undo/git.ts";
import { type Log, adding, readLog, withLock, writeLog } from "../../../src/record/undo/log.ts";
import { cases } from "../../support/cases.ts";
import { until } from "../../support/until.ts";
import { repository, temporaryFolder, workspace } from "../../support/workspace.ts";
import { undoing } from "./undoing.ts";

/** Everything below a folder: kind, mode and content by path. */
function treeOf(folder: string, skip: readonly string[] = [".git"]): { readonly [path: string]: string } {
  const found: { [path: string]: string } = {};
  const visit = (path: string) => {
    for (const name of readdirSync(join(folder, path)).toSorted()) {
      if (skip.includes(name)) continue;
      const inner = path === "" ? name : `${path}/${name}`;
      const info = lstatSync(join(folder, inner));
      const mode = (info.mode & 0o7777).toString(8);
      if (info.isSymbolicLink()) found[inner] = `link ${readlinkSync(join(folder, inner))}`;
      else if (info.isFIFO()) found[inner] = "pipe";
      else if (info.isDirectory()) found[inner] = `folder ${mode}`;
      else found[inner] = `file ${mode} ${readFileSync(join(folder, inner), "latin1")}`;
      if (info.isDirectory()) visit(inner);
    }
  };
  visit("");
  return found;
}

test("the first state is kept when an agent gets a message, before its first act", async () => {
  const folder = await repository({ "a.txt": "one\n" });
  const { toolkit, store, points, run, undo } = await undoing(folder);
  toolkit.hear("Change the file.");
  await until("the state is kept", async () => (await readLog(store)).manifest.length === 1);
  expect(await points.list()).toEqual([]);
  await run("echo two > a.txt");
  expect(await points.list()).toHaveLength(1);
  await undo();
  expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("one\n");
});

test("changes of a shell are undone: content, deletions, new files, renames, modes, folders, links", async () => {
  const folder = await repository({
    "a.txt": "one\n",
    "b/c.txt": "two\n",
    "b/d.txt": "three\n",
    "run.sh": "#!/bin/sh\n",
  });
  mkdirSync(join(folder, "empty/inner"), { recursive: true });
  symlinkSync("a.txt", join(folder, "to-a"));
  chmodSync(join(folder, "a.txt"), 0o600);
  const before = treeOf(folder);
  const git = treeOf(join(folder, ".git"), []);
  const { run, undo, points } = await undoing(folder);
  await run("echo changed > a.txt; chmod 644 a.txt; rm -r b empty; mv run.sh run2.sh; chmod +x run2.sh", "bash");
  await run("mkdir -p new/er; echo x > new/x; ln -sfn /usr to-a; ln -s nowhere dangling; mkdir b; echo y > b/other");
  expect(treeOf(folder)).not.toEqual(before);
  const { undo: again, failures } = await undo();
  expect(failures).toEqual([]);
  expect(treeOf(folder)).toEqual(before);
  expect(treeOf(join(folder, ".git"), [])).toEqual(git);
  expect(await points.list()).toHaveLength(2);
  await undo({ id: again });
  expect(treeOf(folder)).toMatchObject({ "a.txt": "file 644 changed\n", "b/other": "file 644 y\n" });
});

test("an act of a file tool keeps its files only; commands of the same turn are undone with it", async () => {
  const folder = await repository({ "a.txt": "one\n", "b.txt": "two\n", ".gitignore": "ignored\n" });
  writeFileSync(join(folder, "ignored"), "mine\n");
  chmodSync(join(folder, "a.txt"), 0o600);
  const { run, write, undo, newTurn, store, points } = await undoing(folder);
  const before = treeOf(folder);
  await write("new/folder/x.txt", "new\n");
  await write("a.txt", "changed\n");
  await write("ignored", "changed\n");
  expect((await readLog(store)).steps).toEqual([]); // the workspace was not looked at
  writeFileSync(join(folder, "b.txt"), "by somebody else\n");
  await write("b.txt", "changed\n");
  await run("rm a.txt; echo more > new/more.txt");
  const { undo: again, failures, preview } = await undo();
  expect([failures, preview.plan.conflicts]).toEqual([[], []]);
  const expected = { ...before, "b.txt": "file 644 by somebody else\n", ignored: "file 644 mine\n" };
  expect(treeOf(folder)).toEqual(expected);
  await undo({ id: again });
  expect(treeOf(folder)).toMatchObject({ "b.txt": "file 644 changed\n", "new/more.txt": "file 644 more\n" });
  newTurn();
  await write("b.txt", "third\n");
  writeFileSync(join(folder, "b.txt"), "by somebody else again\n");
  const { preview: shared } = await undo();
  expect(shared.plan.conflicts.map(({ path: at }) => at)).toEqual(["b.txt"]);
  expect(readFileSync(join(folder, "b.txt"), "utf8")).toBe("by somebody else again\n");
  expect(await points.list()).toHaveLength(5);
});

test("files that two calls write at the same time into a new folder are undone, and so is the folder", async () => {
  const folder = await workspace({ "a.txt": "a\n" });
  const { toolkit, write, undo } = await undoing(folder);
  await Promise.all([write("new/one", "1\n"), write("new/two", "2\n")]);
  expect(readdirSync(join(folder, "new"))).toEqual(["one", "two"]);
  await undo();
  expect(readdirSync(folder)).toEqual(["a.txt"]);
  await toolkit.close();
});

test("files of each size are kept before acts: in the record, as a compressed object, as a plain one", async () => {
  const sizes = [0, 16_384, 16_386, 300_000, 17_000_000];
  const folder = await workspace(Object.fromEntries(sizes.map((size) => [`${size}.txt`, "é".repeat(size / 2)])));
  const { write, undo, store } = await undoing(folder);
  const before = treeOf(folder);
  for (const size of sizes) await write(`${size}.txt`, "changed\n");
  const { failures } = await undo();
  expect(failures).toEqual([]);
  expect(treeOf(folder)).toEqual(before);
  const check = startGit(store, ["fsck", "--no-dangling", "--full"]);
  expect(await new Promise((resolve) => check.on("close", resolve))).toBe(0);
});

test.for([
  ["a file by a folder", "echo one > t", "rm t; mkdir t; echo in > t/in"],
  ["a link by a folder", "ln -s /etc/hostname t", "rm t; mkdir t; echo in > t/in"],
  ["a folder by a file", "mkdir t; echo one > t/a", "rm -r t; echo file > t"],
  ["a folder by a link", "mkdir t; echo one > t/a", "rm -r t; ln -s /tmp t"],
  ["a file by a pipe", "echo one > t", "rm t; mkfifo t"],
  ["a folder by a pipe", "mkdir t; echo one > t/a", "rm -r t; mkfifo t"],
  ["a folder by an empty one", "mkdir t; echo one > t/a", "rm -r t; mkdir t"],
  ["a file by a folder that ignores itself", "echo one > t", 'rm t; mkdir t; echo "*" > t/.gitignore; echo y > t/y'],
  ["a folder by one that may not be entered", "mkdir t; echo one > t/a", "chmod 0 t"],
  ["a folder that ignored itself", 'mkdir t; echo "*" > t/.gitignore; echo y > t/y', "rm -r t; mkdir t; echo n > t/n"],
  ["a file by a repository", "echo one > t", "rm t; git init -q t; echo x > t/x"],
  ["a folder by a repository", "mkdir t; echo one > t/a", "rm -r t; git init -q t; echo x > t/x"],
] as const)("what a command replaces comes back: %s", async ([, before, command]) => {
  const folder = await workspace({});
  execFileSync("sh", ["-c", before], { cwd: folder });
  const { run, undo } = await undoing(folder);
  const tree = treeOf(folder);
  await run(command);
  expect(await undo()).toMatchObject({ failures: [] });
  expect(treeOf(folder)).toEqual(tree);
});

const EMPTY: Log = { version: 2, steps: [], acting: [], manifest: [], bytes: 0, largeBytes: 0, prunedAt: 0 };

const holdLock = (store: string): void => void withLock(store, async (): Promise<void> => nextTurn());
const replaceRecord = (store: string): Promise<void> => writeLog(store, EMPTY);

test.for([
  ["no process works on the store is added once", () => undefined, 1],
  ["a process takes the lock is added again", holdLock, 2],
  ["a process replaces the record is added again", replaceRecord, 2],
] as const)("what is added while %s", async ([, meanwhile, times]) => {
  const store = temporaryFolder();
  await writeLog(store, EMPTY);
  let added = 0;
  const work = async () => {
    if (++added === 1) await meanwhile(store);
    return added;
  };
  expect(await adding(store, work)).toBe(times);
  expect(added).toBe(times);
});

test("an undo goes back to the last turn of the thread that changed something, and names its message", async () => {
  const folder = await repository({ "a.txt": "one\n", "b.txt": "two\n" });
  const { toolkit, points } = await undoing(folder);
  const act = (thread: string, turn: string, command: string) =>
    toolkit.call({ name: "anything", input: { command }, thread, turn });
  toolkit.hear("Change the file.", "A");
  await act("A", "A1", "echo changed > a.txt");
  await act("A", "A2", "true");
  await act("B", "B1", "ls");
  const { point, plan } = await points.preview(undefined, "A");
  expect([point.message, point.files, plan.files.map(({ path: at }) => at)]).toEqual([
    "Change the file.",
    ["a.txt"],
    ["a.txt"],
  ]);
  expect((await points.preview()).point.id).toBe(point.id);
  await expect(points.preview(undefined, "C")).rejects.toThrow("nothing has been changed in this thread yet");
});

/** Paths that the cases use: files in folders that may become files, links or nothing. */
const PATHS = ["a", "b", "d/a", "d/b", "d/e/a", "f/a", "f/ü b", "g/h/i/a"] as const;
const path = fc.constantFrom(...PATHS);
const name = fc.constantFrom("d", "f", "g", "d/e", "n", "n/m");

/** A folder that links lead to: what is done through them must not reach the machine. */
const elsewhere = temporaryFolder();

/** What tools do, as shell commands. */
const byTool = fc.oneof(
  fc.tuple(path, fc.nat(9)).map(([to, n]) => `mkdir -p "$(dirname "${to}")"; echo ${n} > "${to}"`),
  path.map((from) => `rm -rf "${from}"`),
  fc.tuple(path, path).map(([from, to]) => `mv "${from}" "${to}"`),
  name.map((folder) => `rm -rf ${folder}`),
  name.map((folder) => `mkdir -p ${folder}`),
  fc
    .tuple(fc.oneof(path, name), fc.constantFrom("600", "644", "755", "700"))
    .map(([to, mode]) => `chmod ${mode} "${to}"`),
  fc.tuple(fc.oneof(path, name)).map(([to]) => `rm -rf "${to}"; ln -s ${elsewhere} "${to}"`),
  fc.tuple(name, fc.nat(9)).map(([to, n]) => `rm -rf ${to}; echo ${n} > ${to}`),
  name.map((folder) => `mkdir -p ${folder}; echo "*" > ${folder}/.gitignore`),
  name.map((folder) => `rm -rf ${folder}; git init -q ${folder}; echo x > ${folder}/x`),
  fc.tuple(fc.oneof(path, name)).map(([to]) => `rm -rf "${to}"; mkfifo "${to}"`),
  fc.tuple(name, name).map(([from, to]) => `mv ${from} ${to}`),
  fc.constant("git add -A; git -c user.name=T -c user.email=t@example.org commit -qm x"),
);
/** What somebody else does meanwhile: writes a file, or removes it. */
const byOther = fc.tuple(path, fc.option(fc.nat(9))).map(([at, content]) => ({ at, content }));
/** The same with the file tool. */
const byFileTool = fc.tuple(path, fc.nat(9)).map(([at, content]) => ({ at, content, isTool: true }));
const steps = fc.array(
  fc.oneof({ arbitrary: byTool, weight: 3 }, { arbitrary: byFileTool, weight: 2 }, { arbitrary: byOther, weight: 2 }),
  { minLength: 1, maxLength: 6 },
);

describe("random changes of tools and of somebody else", () => {
  test(
    "are distinguished: those of tools are undone, those of others and of both are kept",
    { timeout: cases(90_000) },
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          const folder = await repository({ a: "a\n", "d/a": "da\n", "d/b": "db\n", "d/e/a": "dea\n", "f/a": "fa\n" });
          mkdirSync(join(folder, "g/h"), { recursive: true });
          writeFileSync(join(folder, ".git/info/exclude"), "d\ng\n");
          const before = treeOf(folder);
          const { run, write, undo, toolkit } = await undoing(folder);
          await run("true"); // the point
          const [tools, others] = [new Set<string>(), new Set<string>()];
          for (const step of all) {
            const was = treeOf(folder);
            const isTool = typeof step === "string" || "isTool" in step;
            if (typeof step === "string") await run(step);
            else if (!isTool) changeAs(folder, step);
            else if (isFree(folder, step.at)) await write(step.at, `tool ${step.content}\n`);
            for (const at of differing(was, treeOf(folder))) (isTool ? tools : others).add(at);
          }
          const now = treeOf(folder);
          const git = treeOf(join(folder, ".git"), []);
          const { preview, failures } = await undo();
          const blocked = new Set([
            ...preview.plan.conflicts.map((change) => shown(change.path)),
            ...failures.map(({ path: at }) => shown(at)),
          ]);
          const after = treeOf(folder);
          for (const at of new Set([...Object.keys(before), ...Object.keys(now), ...Object.keys(after)])) {
            if (blocked.has(at) || hasBelow(after, at)) continue;
            const expected = tools.has(at) && !others.has(at) ? before[at] : now[at];
            expect([at, after[at]]).toEqual([at, expected]);
          }
          expect(treeOf(join(folder, ".git"), [])).toEqual(git);
          for (const { path: at } of preview.plan.conflicts) expect([at, others.has(shown(at))]).toEqual([at, true]);
          if (all.every((step) => typeof step === "string" || "isTool" in step))
            expect([failures, after]).toEqual([[], before]);
          await toolkit.close();
        }),
        { numRuns: cases(4) },
      );
    },
  );
});

/** True where a folder could not be removed since something else is in it, or was made for something in it. */
function hasBelow(tree: { readonly [path: string]: string }, at: string): boolean {
  return Object.keys(tree).some((each) => each.startsWith(`${at}/`));
}

function differing(one: { readonly [path: string]: string }, other: { readonly [path: string]: string }): string[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((at) => one[at] !== other[at]);
}

/** Whether a file can be written there, through no link. */
function isFree(folder: string, at: string): boolean {
  const names = at.split("/");
  return names.every((_, index) => {
    const info = lstatSync(join(folder, ...names.slice(0, index + 1)), { throwIfNoEntry: false });
    return info === undefined || (index === names.length - 1 ? info.isFile() : info.isDirectory());
  });
}

/** As somebody in an editor does it; where the folder is not there, or is a link, they do nothing. */
function changeAs(folder: string, { at, content }: { readonly at: string; readonly content: number | null }): void {
  const target = join(folder, at);
  const parents = at
    .split("/")
    .slice(0, -1)
    .map((_, index, names) => join(folder, ...names.slice(0, index + 1)));
  if (parents.some((parent) => lstatSync(parent, { throwIfNoEntry: false })?.isDirectory() !== true)) return;
  if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true) return;
  rmSync(target, { force: true });
  if (content !== null) writeFileSync(target, `other ${content}\n`);
}
