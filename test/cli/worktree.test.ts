import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { commandLine } from "./program.ts";

const SUM = {
  "lib/sum.mjs": "export function add(a, b) {\n  return a - b;\n}\n",
  "lib/sum.test.mjs":
    'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { add } from "./sum.mjs";\n\n' +
    'test("adds", () => {\n  assert.equal(add(2, 3), 5);\n});\n',
};

test("--worktree works in a worktree beside the repository; an unchanged one is removed, another says how to merge", async () => {
  const line = await commandLine(SUM);
  const git = (...args: readonly string[]) =>
    spawnSync("git", ["-C", line.folder, ...args], { encoding: "utf8" }).stdout.trim();
  git("add", "-A");
  git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "one");
  const trees = `${line.folder}.worktrees`;
  afterFile(() => rmSync(trees, { recursive: true, force: true }));
  const run = (...args: readonly string[]) =>
    line.here(["run", "--model", "demo", "--sandbox", "off", "--yes", "--work-dir", join(line.folder, "lib"), ...args]);

  const idle = await run("Hello", "--worktree");
  const [, path = ""] = /the worktree (\S+) was not changed, and is removed/.exec(idle.stderr) ?? [];
  expect(path.startsWith(`${trees}/`)).toBe(true);
  expect(existsSync(path)).toBe(false);
  expect(git("branch", "--list", "handrail/*")).toBe("");

  mkdirSync(join(line.folder, ".git", "hooks"), { recursive: true });
  const hook = join(line.folder, ".git", "hooks", "post-checkout");
  writeFileSync(hook, `#!/bin/sh\ntouch ${line.folder}/hooked\n`, { mode: 0o755 });
  const busy = await run("Repair the failing test", "--worktree", "fix-sum");
  const tree = join(trees, "fix-sum");
  expect(readFileSync(join(tree, "lib/sum.mjs"), "utf8")).toContain("return a + b;");
  expect(readFileSync(join(line.folder, "lib/sum.mjs"), "utf8")).toBe(SUM["lib/sum.mjs"]);
  expect(existsSync(join(line.folder, "hooked"))).toBe(false);
  expect(busy.stderr).toContain(
    `the work is in ${tree}, on the branch handrail/fix-sum. Some changes are not committed.`,
  );
  expect(busy.stderr).toContain(`to merge: git -C ${line.folder} merge handrail/fix-sum`);

  writeFileSync(join(tree, ".git"), "gitdir: /nowhere\n"); // as a model may have left it
  expect((await run("Hello", "--worktree", "fix-sum")).stderr).toContain("--worktree: git rev-parse failed");
  for (const [args, why] of [
    [["--worktree", "../out"], "expected letters, digits"],
    [["--worktree", "--continue"], "begins a thread in a folder of its own"],
  ] as const)
    expect((await run("Hello", ...args)).stderr).toContain(why);
});
