import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

test("--worktree works in a worktree beside the repository; an unchanged one is removed, another says how to merge", async () => {
  const line = await commandLine({ "lib/sum.mjs": SUM["sum.mjs"], "lib/sum.test.mjs": SUM["sum.test.mjs"] });
  const git = (...args: readonly string[]) =>
    spawnSync("git", ["-C", line.folder, ...args], { encoding: "utf8" }).stdout.trim();
  git("add", "-A");
  git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "one");
  const trees = `${line.folder}.worktrees`;
  afterFile(() => rmSync(trees, { recursive: true, force: true }));
  const model = await repairingModel();
  const run = (...args: readonly string[]) =>
    line.here(["run", ...model, "--sandbox", "off", "--yes", "--work-dir", join(line.folder, "lib"), ...args]);

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
  expect(readFileSync(join(line.folder, "lib/sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
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
