import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandLine } from "./program.ts";
import { SUM, repairingModel } from "./repairing.ts";

test("handrail undo shows what a call changed, restores it with --yes, and can be undone", async () => {
  const line = await commandLine({ "a.txt": "one\n", "b.txt": "two\n" });
  const [a, b] = [join(line.folder, "a.txt"), join(line.folder, "b.txt")];
  const script = "echo changed > a.txt; rm b.txt; mkdir new";
  await line.here(["call", "bash", JSON.stringify({ command: script }), "--yes"]);
  expect([readFileSync(a, "utf8"), existsSync(b)]).toEqual(["changed\n", false]);

  const asked = await line.here(["undo"]);
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

test("in a chat /undo names messages and restores with yes, /diff shows the changes, /export writes the thread", async () => {
  const line = await commandLine(SUM);
  const args = ["chat", ...(await repairingModel()), "--sandbox", "off", "--yes"];
  const chat = async (...lines: readonly string[]) =>
    (await line.here(args, {}, { input: `${lines.join("\n")}\n` })).stdout;
  const words = [
    "Hello",
    "Repair the failing test",
    "/undo list",
    "/diff",
    "/undo",
    "/undo of everything",
    "/undo 2 yes",
  ];
  const text = await chat(...words, "/diff", "/rewind", "/export thread.md", "/context", "/resume");
  expect(text).toMatch(/^ {2}2 {2}\d\d:\d\d {2}"Repair the failing test" +1 file {2}\+1 −1$/m);
  expect(text).toMatch(/^-  return a - b;\n\+  return a \+ b;$/m);
  expect(text).toMatch(/^Back to before "Repair the failing test"\n +restore +sum\.mjs\nTo restore: \/undo 2 yes$/m);
  expect(text).toContain("expected /undo [list|NUMBER] [yes] [force], got of everything");
  expect(text).toMatch(
    /1 path restored\. To take that back: \/undo \w+\nThe files are as they were before this thread\.\n/,
  );
  expect(text).toMatch(/^ {2}2 .*\n {2}1 {2}\d\d:\d\d {2}"Hello" *\nTo go back: \/rewind NUMBER/m);
  expect(text).toMatch(
    /^mock · this machine · no sandbox · approves all +\d% of 128k · [\d.]+k tokens\ninstructions +[\d.k]+ +\d%$/m,
  );
  expect(text).toMatch(/^ 1 {2}\d\d:\d\d {2}Hello .* \d+ calls?\nTo continue one: \/resume NUMBER$/m);
  expect(readFileSync(join(line.folder, "sum.mjs"), "utf8")).toBe(SUM["sum.mjs"]);
  expect(readFileSync(join(line.folder, "thread.md"), "utf8")).toContain("**You**");
  const [, thread = ""] = /^(\w+) /.exec((await line.here(["threads"])).stdout) ?? [];
  expect((await line.here(["threads", "export", thread])).stdout).toMatch(/^# Hello\n\nThread /);
});
