// What `write` may plant: git takes any folder with certain files for a repository, and runs what its configuration
// names.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { layout } from "../support/layout.ts";
import { temporaryFolder, toolkitWith, workspace } from "../support/workspace.ts";

/** The parts of a repository whose monitor leaves a mark, by path and content. */
const parts = (mark: string): { readonly [path: string]: string } => ({
  HEAD: "ref: refs/heads/main\n",
  "objects/x": "",
  "refs/x": "",
  config: `[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = "touch ${mark}; :"\n`,
});

/** The names in orders in which each is once the first and once the last, forwards and backwards. */
function rotations(names: readonly string[]): readonly (readonly string[])[] {
  const forwards = names.map((_, at) => [...names.slice(at), ...names.slice(0, at)]);
  return [...forwards, ...forwards.map((order) => order.toReversed())];
}

describe("a repository that is planted with write", () => {
  test("is asked about before it becomes one, whatever comes last, and git runs nothing", async () => {
    const folder = await workspace();
    const mark = join(temporaryFolder(), "mark");
    const files = parts(mark);
    const status = (at: string) => {
      execFileSync("git", ["-C", join(folder, at), "status"], {
        stdio: "pipe",
        env: { ...process.env, GIT_CEILING_DIRECTORIES: folder },
      });
    };
    const asked: string[] = [];
    const toolkit = await toolkitWith({
      workDir: folder,
      preset: "coding",
      approver: async ({ input }, { reason = "" }) => {
        expect(reason).toMatch(/^Writing .+ requires approval: it holds the repository's own files$/);
        asked.push((input as { path: string }).path);
        return { answer: "refuse" };
      },
    });
    for (const [index, order] of rotations(Object.keys(files)).entries()) {
      const at = `docs/${index}`;
      for (const path of order)
        await toolkit.call({ name: "write", input: { path: `${at}/${path}`, content: files[path] } });
      const last = order.findLast((path) => path !== "config");
      expect(asked.splice(0), order.join(" ")).toEqual([`${at}/${last}`]);
      expect(() => status(at)).toThrow(/not a git repository/);
    }
    expect(existsSync(mark)).toBe(false);

    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, "planted", path)), { recursive: true });
      writeFileSync(join(folder, "planted", path), content);
    }
    status("planted");
    expect(existsSync(mark)).toBe(true);
  });

  test("is also asked about if its files are written by concurrent calls, or by one call", async () => {
    const world = await layout();
    const toolkit = await world.toolkit();
    const effects = ["HEAD", "objects/x", "refs/x"].map((path) => ({ kind: "write", path: `docs/${path}` }) as const);
    expect(await toolkit.judge(effects)).toMatchObject({ verdict: "ask", rule: "protected_files" });
    const other = await world.toolkit();
    const judged = await Promise.all(effects.map((effect) => other.judge([effect])));
    expect(judged.map(({ verdict }) => verdict)).toContain("ask");
  });
});

describe("in a folder that git takes for a repository", () => {
  const judge = (toolkit: Toolkit, path: string) => toolkit.judge([{ kind: "write", path }]);

  test.each([
    ["repo.git", ["HEAD", "objects/x", "refs/x"]],
    ["work/tree", ["HEAD", "commondir"]],
    ["", ["HEAD", "objects/x", "refs/x"]],
  ])("its own files are asked about, and no others: %j", async (folder, there) => {
    const world = await layout();
    for (const path of there) await world.file(join(folder, path));
    const toolkit = await world.toolkit({ policy: { autonomy: "full" } });
    for (const path of [
      "config",
      "HEAD",
      "hooks/pre-commit",
      "info/attributes",
      "objects/info/alternates",
      "refs/replace/x",
      "config.worktree",
      "commondir",
    ])
      expect([path, await judge(toolkit, join(folder, path))]).toMatchObject([
        path,
        { verdict: "ask", rule: "protected_files" },
      ]);
    for (const path of ["readme.md", "src/hooks/use.ts", "config.json"])
      expect([path, (await judge(toolkit, join(folder, path))).verdict]).toEqual([path, "allow"]);
  });

  test("links count by their own names", async () => {
    const world = await layout();
    await world.file("docs/config");
    for (const [name, target] of [
      ["HEAD", "refs/heads/main"],
      ["objects", "../.git/objects"],
    ] as const)
      symlinkSync(target, join(world.workDir, "docs", name));
    expect(await judge(await world.toolkit(), "docs/refs/x")).toMatchObject({
      verdict: "ask",
      rule: "protected_files",
    });
  });

  test("a part of a repository is none: ordinary folders with such names are written without a question", async () => {
    const world = await layout();
    for (const path of ["src/objects/a.ts", "src/refs/b.ts", "src/config/c.ts", "HEAD"]) await world.file(path);
    const toolkit = await world.toolkit();
    for (const path of [
      "src/hooks/use.ts",
      "src/objects/new.ts",
      "src/refs/new.ts",
      "src/app/config",
      "HEAD",
      "src/index",
    ])
      expect([path, (await judge(toolkit, path)).verdict]).toEqual([path, "allow"]);
  });
});

describe("what a configuration of git leads to, in the project", () => {
  test.each([
    ["a hook", ".githooks/pre-commit", "ask"],
    ["a hook in a folder that does not exist yet", ".coming/pre-push", "ask"],
    ["a filter", "clean.py", "ask"],
    ["a program that does not exist yet", "tools/monitor", "ask"],
    ["an included file", "shared.config", "ask"],
    ["a file that an included file includes", "deeper.config", "ask"],
    ["a hook that the person's own configuration names", ".mine/post-merge", "ask"],
    ["a file for another setting", ".git-blame-ignore-revs", "allow"],
    ["a file of the project", "src/clean.py", "allow"],
    ["attributes", ".gitattributes", "allow"],
  ] as const)("%s", async (_, path, verdict) => {
    const world = await layout();
    const git = (...args: readonly string[]) => execFileSync("git", ["-C", world.workDir, ...args], { stdio: "pipe" });
    git("init", "-q", ".");
    for (const [key, value] of [
      ["core.hooksPath", ".githooks"],
      ["filter.x.clean", "python3 clean.py %f"],
      ["core.fsmonitor", "tools/monitor"],
      ["include.path", "../shared.config"],
      ["blame.ignoreRevsFile", ".git-blame-ignore-revs"],
    ] as const)
      git("config", key, value);
    for (const each of [".githooks/pre-commit", "clean.py", "src/clean.py", ".git-blame-ignore-revs"])
      await world.file(each, "x\n");
    await world.file("shared.config", "[include]\n\tpath = deeper.config\n[core]\n\thooksPath = .coming\n");
    await world.file(join(world.home, ".gitconfig"), "[core]\n\thooksPath = .mine\n");
    const toolkit = await world.toolkit();
    expect((await toolkit.judge([{ kind: "write", path }])).verdict).toBe(verdict);
    await toolkit.close();
  });
});
