// Compares changes reported by inotify with reading all folders.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { type FolderChanges, folderChanges } from "../../../src/machine/sandbox/mounts/folder-changes.ts";
import { type ProtectedFiles, WORTH_WATCHING, protectedFinder } from "../../../src/machine/sandbox/mounts/protected.ts";
import { cases } from "../../support/cases.ts";
import { temporaryFolder } from "../../support/workspace.ts";

const isProtected = (path: string) => basename(path) === ".vscode";
const isSensitive = (path: string) => basename(path) === ".env";

interface Tree {
  readonly root: string;
  readonly changes: FolderChanges;
  /** With inotify. */
  found(): Promise<ProtectedFiles>;
  /** Without inotify, by a finder that knows nothing yet. */
  looked(): ProtectedFiles;
}

/** A tree that is large enough to be watched, and is watched. */
async function largeTree(): Promise<Tree> {
  const root = join(temporaryFolder(), "ws");
  for (let count = 0; count < WORTH_WATCHING; count++) {
    mkdirSync(join(root, `p${count % 10}`, `q${count}`), { recursive: true });
  }
  const changes = folderChanges(join(temporaryFolder(), "own"));
  onTestFinished(() => changes.close());
  const finder = protectedFinder(isProtected, { isSensitive, changes });
  const found = async () => {
    await changes.settle();
    return finder.find(root);
  };
  await found();
  await found();
  expect(changes.isUnchanged(join(root, "p3", "q3"))).toBe(true);
  return { root, changes, found, looked: () => protectedFinder(isProtected, { isSensitive }).find(root) };
}

const NAMES = ["p1", "p2/q2", "p3/q13", "p3/q13/new", "p4/other", "p5", "p5/q5/.vscode", "p6/q6/x/y/.env"];
const ACTS: { readonly [act: string]: (at: string, other: string) => void } = {
  folder: (at) => mkdirSync(at, { recursive: true }),
  file: (at) => writeFileSync(at, ""),
  secret: (at) => writeFileSync(join(at, ".env"), ""),
  protected: (at) => mkdirSync(join(at, ".vscode")),
  repository: (at) => mkdirSync(join(at, ".git")),
  deep: (at) => mkdirSync(join(at, "a/b/c/.vscode"), { recursive: true }),
  rename: (at, other) => renameSync(at, other),
  swap(at, other) {
    renameSync(at, `${at}~`);
    renameSync(other, at);
    renameSync(`${at}~`, other);
  },
  remove: (at) => rmSync(at, { recursive: true }),
  link: (at, other) => symlinkSync(other, at),
};
const name = fc.constantFrom(...NAMES);
const anAct = fc.record({ act: fc.constantFrom(...Object.keys(ACTS)), name, other: name });

test("everything created, renamed and removed is found as if every folder was read", async () => {
  const { root, found, looked } = await largeTree();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(anAct, { maxLength: 8 }), { maxLength: 4 }), async (rounds) => {
      for (const acts of rounds) {
        for (const { act, name: at, other } of acts) {
          try {
            ACTS[act]?.(join(root, at), join(root, other));
          } catch {
            // impossible in this state
          }
        }
        expect(await found()).toEqual({ ...looked(), old: expect.any(Array) });
      }
    }),
    { numRuns: cases(15) },
  );
});

test("a folder without changes is not read; one with a new name is", async () => {
  const { root, changes, found } = await largeTree();
  writeFileSync(join(root, "p1/q1/.env"), "");
  await found();
  expect(changes.isUnchanged(join(root, "p2/q2"))).toBe(true);
  writeFileSync(join(root, "p2/q2/a"), "");
  await changes.settle();
  expect(changes.isUnchanged(join(root, "p2/q2"))).toBe(false);
});

test("a nested folder is read when it takes the name of another", async () => {
  const { root, found } = await largeTree();
  mkdirSync(join(root, "p1/a/b/c"), { recursive: true });
  mkdirSync(join(root, "p2/a/b/c/.vscode"), { recursive: true });
  await found();
  await found();
  ACTS["swap"]?.(join(root, "p1"), join(root, "p2"));
  expect((await found()).paths).toEqual([join(root, "p1/a/b/c/.vscode")]);
});

test("no change is hidden by more changes than the kernel keeps", async () => {
  const { root, found, looked } = await largeTree();
  const most = Number(readFileSync("/proc/sys/fs/inotify/max_queued_events", "latin1"));
  for (let count = 0; count < most; count++) {
    writeFileSync(join(root, "p1/q1", `f${count}`), "");
    rmSync(join(root, "p1/q1", `f${count}`));
  }
  mkdirSync(join(root, "p2/q2/.vscode"));
  // The kernel has reported everything that it kept, and continues to report.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  expect((await found()).paths).toEqual([join(root, "p2/q2/.vscode")]);
  mkdirSync(join(root, "p3/q3/.vscode"));
  expect(await found()).toEqual({ ...looked(), old: expect.any(Array) });
});

test("another tree in place of the root is found, even if only a folder above was renamed", async () => {
  const { root, found, looked } = await largeTree();
  const above = join(root, "..");
  renameSync(above, `${above}-before`);
  onTestFinished(() => rmSync(`${above}-before`, { recursive: true }));
  mkdirSync(join(root, "p1/q1/.vscode"), { recursive: true });
  expect((await found()).paths).toEqual([join(root, "p1/q1/.vscode")]);
  expect(existsSync(join(root, "p2"))).toBe(false);
  expect(await found()).toEqual({ ...looked(), old: expect.any(Array) });
});

test("a folder in place of another one that changed at the same moment is read", async () => {
  const root = join(temporaryFolder(), "ws");
  const finder = protectedFinder(isProtected);
  const changedMs = (path: string) => statSync(join(root, path)).ctimeMs;
  do {
    rmSync(root, { recursive: true, force: true });
    mkdirSync(join(root, "old/inner"), { recursive: true });
    mkdirSync(join(root, "new/inner/.vscode"), { recursive: true });
  } while (changedMs("old/inner") !== changedMs("new/inner")); // clocks of file systems tick slowly
  await expect.poll(() => Date.now() - changedMs("new/inner")).toBeGreaterThan(200); // a younger listing is not kept
  expect(finder.find(root).paths).toEqual([join(root, "new/inner/.vscode")]);
  renameSync(join(root, "old"), join(root, "other"));
  renameSync(join(root, "new"), join(root, "old"));
  expect(finder.find(root).paths).toEqual([join(root, "old/inner/.vscode")]);
});
