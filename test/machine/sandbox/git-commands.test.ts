// Porcelain commands of git in the sandbox, some here and all in the system tests: does it work there, and is anybody asked?
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asText } from "../../../src/core/call/result.ts";
import { representatives } from "../../support/cases.ts";
import { mustBeHere } from "../../support/here.ts";
import { temporaryFolder, toolkitWith } from "../../support/workspace.ts";
import { bubblewrapProblem } from "./contained.ts";

const problem = bubblewrapProblem();
mustBeHere("git in the sandbox", problem);

const PERSON = "[user]\nname = Ada\nemail = ada@example.org\n[init]\ndefaultBranch = main\n[core]\neditor = vim\n";

/** A repository with branches, a tag, a stash, a merged branch, and a remote whose branch nothing follows yet. */
const MAKE = `git init -q -b main; git config user.name Ada; git config user.email ada@example.org
  commit() { echo "$1" >"$1"; git add .; git commit -qm "$1"; }
  commit one; git clone -q --bare . ../remote.git; git branch merged; git checkout -qb side; commit side; git checkout -q main
  commit two; git tag t1; mkdir -p folder/sub; commit folder/sub/three; git remote add origin ../remote.git; git push -q origin main side; git fetch -q
  git branch -q --unset-upstream 2>/dev/null; echo x >>one; git stash -q
  git init -q ../super; cd ../super; git -c protocol.file.allow=always submodule --quiet add ../remote.git sub
  git config -f .git/modules/sub/config user.name Ada; git config -f .git/modules/sub/config user.email ada@example.org`;

/** A folder with the repository and its remote, made once. */
const original = (() => {
  let made: string | undefined;
  return (env: NodeJS.ProcessEnv) => {
    if (made !== undefined) return made;
    made = temporaryFolder();
    mkdirSync(join(made, "repository"));
    execFileSync("bash", ["-c", MAKE], { cwd: join(made, "repository"), env });
    return made;
  };
})();

/** What comes of a command in a copy of the repository. Git must not complain where it succeeds. */
async function outcome(command: string, folder = "repository") {
  const base = temporaryFolder();
  const home = join(base, "home");
  mkdirSync(home);
  writeFileSync(join(home, ".gitconfig"), PERSON);
  const env = { ...process.env, HOME: home };
  cpSync(original(env), base, { recursive: true });
  let asked = false;
  const approver = async () => {
    asked = true;
    return { answer: "once" } as const;
  };
  const workDir = join(base, folder);
  const toolkit = await toolkitWith({
    workDir,
    env,
    preset: "coding",
    sandbox: "on",
    approver,
    policy: { allowedRoots: [join(base, "remote.git")] },
  });
  const result = await toolkit.call({ name: "bash", input: { command, timeout: 60 } });
  await toolkit.close();
  const output = asText(result);
  const isWrong = /(^|\n)(Exit code: |error: |fatal: |warning: )|resource busy|read-only|sandbox (disabled|put)/i.test(
    output,
  );
  return { is: result.status !== "ok" ? "refused" : isWrong ? "error" : asked ? "asked" : "ok", output };
}

/** By outcome. A line is a script that runs in a repository of its own. */
const COMMANDS: { readonly [is: string]: string } = {
  ok: `
    git add . && git commit -q --allow-empty -m x
    git apply --allow-empty /dev/null
    git archive HEAD | wc -c
    git bisect start && git bisect reset
    git blame two
    git branch -q new && git branch -d new
    git branch -d merged
    git branch new origin/side
    git branch -u origin/main
    git branch -u origin/main && git branch --unset-upstream
    git bundle create b.bundle HEAD
    git checkout -q side && git checkout -q main && git merge -q side -m x && git branch -d side
    git checkout -b new --track origin/side
    git cherry-pick side
    git clean -n
    git clone -q . inner && cd inner && git config user.email b@example.org
    git commit -q --amend --no-edit
    git config user.email b@example.org
    git count-objects
    git describe --tags
    git diagnose && ls
    git diff HEAD~1
    git fetch -q origin
    git fetch -q --prune --all
    git format-patch -1
    git fsck
    git gc -q
    git grep one
    git init -q && git config user.email b@example.org && git commit -q --allow-empty -m x
    mkdir new && cd new && git init -q && git config user.email b@example.org && git commit -q --allow-empty -m x
    git log --oneline
    git ls-remote origin
    git maintenance run
    git merge -q side -m x
    git multi-pack-index write 2>/dev/null; git repack -adq && git multi-pack-index write
    git mv one other
    git notes add -m x
    git pack-refs --all
    git prune-packed
    git pull -q --no-rebase --no-edit origin side
    git push -q origin HEAD:refs/heads/other
    git range-diff HEAD~1...HEAD
    git rebase -q side
    git reflog
    git remote -v
    git remote set-head origin main
    git repack -adq
    git rerere
    git reset -q --hard HEAD~1
    git restore --source HEAD~1 one
    git revert --no-edit HEAD
    git rm -q one
    git shortlog HEAD
    git show --stat
    git show-branch
    git sparse-checkout set folder && git sparse-checkout add folder/sub && git sparse-checkout disable
    git stash list && git stash pop -q
    git status
    git submodule status
    git submodule update --init
    git switch -q side
    git tag new && git tag -d new
    git update-server-info
    git repack -q && git verify-pack .git/objects/pack/*.idx
    git worktree add -q tree && git worktree remove tree && git worktree prune`,
  asked: `
    git branch -D side
    git branch -m main renamed
    git clean -fdq
    git config commit.verbose true
    git gc -q --prune=now
    git prune
    git reflog expire --expire=now --all
    git remote add other https://example.org/x.git
    git remote remove origin
    git stash drop -q`,
  error: `
    git am --abort
    git commit -q --allow-empty
    git config --global user.name x
    git maintenance register
    git replace HEAD HEAD~1
    git worktree add -q /usr/tree`,
  refused: `
    make; git config user.email b@example.org
    make && git remote add other https://example.org/x.git`,
};

const lines = (text: string) => text.trim().split(/\n\s*/);

describe.skipIf(problem !== undefined)("git in the sandbox", { timeout: 300_000 }, () => {
  test.each(Object.entries(COMMANDS))("these commands are: %s", async (expected, text) => {
    const commands = representatives(lines(text), 5);
    const all: unknown[] = [];
    for (const command of commands) {
      const { is, output } = await outcome(command);
      if (is !== expected) all.push({ command, is, output });
    }
    expect(all).toEqual([]);
  });

  test("a workspace that is a submodule is committed to, and its configuration stays read-only", async () => {
    const [work, config] = ["echo x >x && git add x && git commit -qm x", "../.git/modules/sub/config"];
    for (const [command, is] of [
      [`${work} && git log --format=%s -1`, "ok"],
      [`git checkout -q -b new && ${work} && git checkout -q main && git merge -q new && git branch -d new`, "ok"],
      ["git config user.email b@example.org", "ok"],
      [`echo >>${config}`, "asked"],
      ["up=..; cp /etc/hostname $up/.git/modules/sub/config", "error"],
    ] as const)
      expect(await outcome(command, "super/sub"), command).toMatchObject({ is });
  });
});
