import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "./program.ts";

test("handrail undo shows what a call changed, restores it with --yes, and can be undone", async () => {
  const line = await commandLine({ "a.txt": "one\n", "b.txt": "two\n" });
  const [a, b] = [join(line.folder, "a.txt"), join(line.folder, "b.txt")];
  const script = "echo changed > a.txt; rm b.txt; mkdir new";
  await line.here(["call", "bash", JSON.stringify({ command: script }), "--yes"]);
  expect([readFileSync(a, "utf8"), existsSync(b)]).toEqual(["changed\n", false]);

  const asked = await line.run(["undo"]);
  expect(asked.stdout).toMatch(/restore +a\.txt\n +bring back +b\.txt\n +remove +new\/\n/);
  expect([asked.code, existsSync(b)]).toEqual([1, false]);
  expect(asked.stderr).toContain("run handrail undo in a terminal, or with --yes");
  expect((await line.here(["undo", "--diff"])).stdout).toContain("-changed\n+one\n");

  const done = await line.here(["undo", "--yes"]);
  expect([readFileSync(a, "utf8"), readFileSync(b, "utf8"), existsSync(join(line.folder, "new"))]).toEqual([
    "one\n",
    "two\n",
    false,
  ]);
  const [, id = ""] = /3 paths restored\. To take that back: handrail undo (\w+)\n/.exec(done.stdout) ?? [];
  expect((await line.here(["undo", "--list"])).stdout).toMatch(new RegExp(`^${id} .* before the undo of \\w+ `));
  await line.here(["undo", id, "--yes"]);
  expect([readFileSync(a, "utf8"), existsSync(b)]).toEqual(["changed\n", false]);
});

test("later changes of somebody else are kept and named, unless --force is given", async () => {
  const line = await commandLine({ "a.txt": "one\n" });
  await line.here(["call", "bash", '{"command":"echo changed > a.txt"}', "--yes"]);
  writeFileSync(join(line.folder, "a.txt"), "mine\n");
  expect((await line.here(["undo"])).stdout).toMatch(
    /so they stay as they are \(--force restores them\):\n +keep +a\.txt/,
  );
  await line.here(["undo", "--force", "--yes"]);
  expect(readFileSync(join(line.folder, "a.txt"), "utf8")).toBe("one\n");
});

test("with undo: off nothing is kept", async () => {
  const line = await commandLine();
  mkdirSync(join(line.configHome, "handrail"), { recursive: true });
  writeFileSync(join(line.configHome, "handrail/config.yaml"), "undo: off\n");
  await line.here(["call", "bash", '{"command":"echo x > a.txt"}', "--yes"]);
  expect(existsSync(join(line.stateHome, "handrail/undo"))).toBe(false);
});

test("--git-state also undoes what a command did to the repository", async () => {
  const line = await commandLine({ "a.txt": "one\n" });
  const git = (...args: readonly string[]) => spawnSync("git", args, { cwd: line.folder, encoding: "utf8" }).stdout;
  const state = () => [git("rev-parse", "HEAD", "main"), git("status", "--porcelain"), git("reflog", "-n", "1")];
  const before = state();
  const command = "echo two > a.txt; git add a.txt; git -c user.name=T -c user.email=t@example.org commit -qm two";
  await line.here(["call", "bash", JSON.stringify({ command }), "--yes"]);
  const after = state();
  expect(after).not.toEqual(before);
  expect((await line.here(["undo"])).stdout).toMatch(/of the git repository changed too: \d+ files \(--git-state /);
  await line.here(["undo", "--yes"]);
  expect(state()[0]).toBe(after[0]);
  const [, point = ""] = /^(\w+) .* before bash/m.exec((await line.here(["undo", "--list"])).stdout) ?? [];
  await line.here(["undo", point, "--git-state", "--yes"]);
  expect(state()).toEqual(before);
});

test("/undo in a chat shows what it would do, and restores it with yes", async () => {
  const line = await commandLine({ "a.txt": "one\n" });
  await line.here(["call", "bash", '{"command":"echo changed > a.txt"}', "--yes"]);
  const chat = async (words: string) =>
    (await line.here(["chat", "--model", "demo"], {}, { input: `/undo ${words}\n` })).stdout;
  expect(await chat("list")).toMatch(/^\w+ {2}.* before bash, the first act of a call in thread /m);
  expect(await chat("")).toContain("nothing has been changed in this thread yet");
  const [, id = ""] = /^(\w+) {2}.*: changed a\.txt$/m.exec(await chat("list")) ?? [];
  const [, remedy = ""] = /restore +a\.txt\nTo restore: \/undo (\w+ yes)\n/.exec(await chat(id)) ?? [];
  expect(await chat("of everything")).toContain("expected /undo [list|ID] [yes] [force], got of everything");
  expect(await chat(remedy)).toMatch(/1 path restored\. To take that back: \/undo \w+\n/);
  expect(readFileSync(join(line.folder, "a.txt"), "utf8")).toBe("one\n");
});
