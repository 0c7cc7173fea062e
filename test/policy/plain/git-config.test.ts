// Which configurations of a repository are known to start nothing.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unknownSetting } from "../../../src/machine/git/settings.ts";
import { workspace } from "../../support/workspace.ts";

const CORE = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

test.each([
  "",
  CORE,
  `# a comment\n\n; another\n${CORE}`,
  CORE.replaceAll("\n", "\r\n"),
  '[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
  '[branch "feature/x"]\n\tremote = origin\n\tmerge = refs/heads/feature/x\n\tvscode-merge-base = origin/main\n',
  "[user]\n\tname = A B\n\temail = a@example.org\n[CORE]\n\tFileMode = false\n",
  '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n',
  '[submodule "lib"]\n\turl = https://example.org/lib.git\n\tactive = true\n',
])("inert: %j", (config) => {
  expect(unknownSetting(config)).toBeUndefined();
});

test.each<[string, string]>([
  ["[core]\n\tfsmonitor = ./x\n", "fsmonitor = ./x"],
  ["[core]\n\thooksPath = x\n", "hooksPath = x"],
  ["[core]\n\tworktree = /\n", "worktree = /"],
  ["[core]\n\tbare = true\n", "bare = true"],
  ["[core]\n\tbare\n", "bare"],
  ["[core]\n\tpager = x\n", "pager = x"],
  ["[core]\n\tfilemode = true # x\n", "filemode = true # x"],
  ["[core]\n\tfilemode = true\\\n", "filemode = true\\\\"],
  ["# x\\\n[core]\n", "# x\\\\"],
  ['[core "x"]\n\tfilemode = true\n', "filemode = true"],
  ["[core] fsmonitor = x\n", "[core] fsmonitor = x"],
  ["[core.x]\n", "[core.x]"],
  ["[include]\n\tpath = x\n", "path = x"],
  ['[includeIf "gitdir:/"]\n\tpath = x\n', "path = x"],
  ['[diff "evil"]\n\ttextconv = x\n', "textconv = x"],
  ["[diff]\n\texternal = x\n", "external = x"],
  ['[filter "evil"]\n\tclean = x\n', "clean = x"],
  ['[filter "lfs"]\n\tclean = git-lfs clean -- %f; x\n', "clean = git-lfs clean -- %f; x"],
  ['[filter "LFS"]\n\tclean = git-lfs clean -- %f\n', "clean = git-lfs clean -- %f"],
  ["[gpg]\n\tprogram = x\n", "program = x"],
  ["[format]\n\tpretty = %G?\n", "pretty = %G?"],
  ["[pretty]\n\tx = %G?\n", "x = %G?"],
  ["[log]\n\tshowSignature = true\n", "showSignature = true"],
  ["[extensions]\n\tworktreeConfig = true\n", "worktreeConfig = true"],
  ["[alias]\n\tx = !y\n", "x = !y"],
  ['[remote "o"]\n\tpromisor = true\n', "promisor = true"],
  ['[remote "o"]\n\tuploadpack = x\n', "uploadpack = x"],
  ['[submodule "o"]\n\tupdate = !x\n', "update = !x"],
  ['[url "x"]\n\tinsteadOf = y\n', "insteadOf = y"],
  ["[credential]\n\thelper = x\n", "helper = x"],
  ['[branch "x"]\n\tdescription = "a\n', 'description = \\"a'],
  ["[user]\n\tname = a\u0007b\n", "name = a\\u0007b"],
  ["filemode\n", "filemode"],
  ["[constructor]\n\tname = x\n", "name = x"],
])("not inert: %j", (config, line) => {
  expect(unknownSetting(config)).toBe(`"${line}"`);
});

test("what git itself writes into a new repository is harmless", async () => {
  const folder = await workspace({ a: "a\n" });
  const git = (...args: readonly string[]) => execFileSync("git", ["-C", folder, ...args], { stdio: "pipe" });
  git("init", "--quiet");
  git("remote", "add", "origin", "https://example.org/a.git");
  git("config", "branch.main.remote", "origin");
  git("config", "user.name", "A B");
  expect(unknownSetting(readFileSync(join(folder, ".git/config"), "utf8"))).toBeUndefined();
});
