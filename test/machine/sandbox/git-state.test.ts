// What contained commands write into a repository's own folder, and what a person's git does with it afterwards,
// outside.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { SandboxAccess, Refusal } from "../../../src/core/contract/containment.ts";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { mustBeHere } from "../../support/here.ts";
import { type World, noSandbox, world, worldFolder } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const AUTHOR = {
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.org",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_EDITOR: "true",
  GIT_CEILING_DIRECTORIES: realpathSync(tmpdir()), // it may lie in a repository
};

/** Runs git as the person does: outside. */
function git(folder: string, ...args: readonly string[]): string {
  const { stdout, stderr } = spawnSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...AUTHOR },
  });
  return stdout + stderr;
}

/** A repository with two branches that change the same line, set up once for the file. */
let original: string | undefined;
afterAll(() => {
  original = undefined;
});

function repositoryToCopy(): string {
  if (original !== undefined) return original;
  const script = `git init -q -b main; commit() { echo "$1" >file; git add .; git commit -qm "$1"; }
    commit one; git checkout -qb side; commit side; commit 'side two'; git checkout -q main; commit main`;
  original = worldFolder();
  execFileSync("bash", ["-c", script], { cwd: original, env: { ...process.env, ...AUTHOR } });
  return original;
}

/** A copy of it. Git knows the files of the copy. */
function repository(folder: string): void {
  cpSync(repositoryToCopy(), folder, { recursive: true, preserveTimestamps: true });
  git(folder, "update-index", "-q", "--refresh");
}

const heldBack = (refusals: readonly Refusal[], root: string) =>
  refusals.flatMap((each) => (each.kind === "held-back" ? [each.path.slice(root.length + 1)] : [])).toSorted();

async function repositoryWorld(): Promise<
  World & { runs(script: string, within?: SandboxAccess): ReturnType<World["bash"]> }
> {
  const place = await world();
  repository(place.workDir);
  await place.bash("true"); // what exists now existed before
  return {
    ...place,
    runs: (script, within = {}) => place.bash(script, { env: AUTHOR, within }),
  };
}

describe.skipIf(noSandbox !== undefined)("what a command writes into .git", () => {
  const TODO = (
    mark: string,
  ) => `mkdir -p .git/rebase-merge && cd .git/rebase-merge && echo "exec touch ${mark}" >git-rebase-todo &&
    echo refs/heads/main >head-name && git rev-parse HEAD | tee onto orig-head >/dev/null && echo 1 | tee msgnum end >/dev/null && : >interactive`;

  test("a planted rebase is put aside, and a person's `git rebase --continue` runs nothing", async () => {
    const { runs, workDir, root } = await repositoryWorld();
    const mark = join(root, "ran");
    const { refusals, exit } = await runs(TODO(mark));
    expect(exit).toEqual({ how: "exited", code: 0 });
    expect(heldBack(refusals, workDir)).toEqual([".git/rebase-merge"]);
    expect(git(workDir, "rebase", "--continue")).toContain("No rebase in progress");
    expect(existsSync(mark)).toBe(false);
    // Without the sandbox it would have run.
    execFileSync("bash", ["-c", TODO(mark)], { cwd: workDir, env: { ...process.env, ...AUTHOR } });
    git(workDir, "rebase", "--continue");
    expect(existsSync(mark)).toBe(true);
  });

  test("an operation that is left open is kept if it starts nothing, whatever the command named", async () => {
    const { runs, workDir, root } = await repositoryWorld();
    const mark = join(root, "ran");
    const conflict = await runs("bash -c 'git rebase main side'"); // no word of the policy
    expect(conflict.exit).toEqual({ how: "exited", code: 1 });
    expect(heldBack(conflict.refusals, workDir)).toEqual([]);
    const add = `echo "x touch ${mark}" >>.git/rebase-merge/git-rebase-todo`;
    expect((await runs(add)).output).toContain("Read-only file system");
    writeFileSync(join(workDir, "file"), "both\n");
    git(workDir, "add", ".");
    git(workDir, "rebase", "--continue");
    writeFileSync(join(workDir, "file"), "both two\n");
    git(workDir, "add", ".");
    expect(git(workDir, "rebase", "--continue")).toContain("Successfully rebased");
    const named = await runs(
      `git rebase --exec 'touch ${mark}' main~1 main; git rebase main~1 --exec false --exec 'touch ${mark}'`,
      { git: true },
    );
    expect(heldBack(named.refusals, workDir)).toEqual([".git/rebase-merge"]);
    git(workDir, "rebase", "--continue");
    expect(existsSync(mark)).toBe(false);
  });

  test.each([
    ["a merge", "git merge side", "commit", "-qm", "merged"],
    ["a merge with a strategy of git's own", "git merge -s recursive -X patience side", "commit", "-qm", "merged"],
    ["a cherry-pick of one", "git cherry-pick side~1", "cherry-pick", "--continue"],
    ["a cherry-pick of several", "git cherry-pick main..side", "cherry-pick", "--skip"],
    ["a revert", "git revert --no-edit HEAD~1", "revert", "--continue"],
    ["a patch", "git format-patch -1 side --stdout | git am", "am", "--skip"],
    ["a rebase with the merge backend", "git rebase --merge main side", "rebase", "--continue"],
    ["a rebase with the apply backend", "git rebase --apply main side", "rebase", "--abort"],
  ])("%s that a command leaves open is kept, and the person can go on", async (_, script, ...next) => {
    const { runs, workDir } = await repositoryWorld();
    const { refusals, exit, output } = await runs(script, { git: true });
    expect({ exit, output }).not.toMatchObject({ exit: { how: "exited", code: 0 } });
    expect(heldBack(refusals, workDir), output).toEqual([]);
    expect(git(workDir, "status")).toMatch(/unmerged|in progress|cherry-picking|reverting|rebas|am session/);
    writeFileSync(join(workDir, "file"), "both\n");
    git(workDir, "add", ".");
    expect(git(workDir, ...next)).not.toMatch(/fatal|No .* in progress/);
  });

  test.each([
    ["a merge strategy that is a program", "echo evil >.git/rebase-merge/strategy"],
    ["an option with a shell's words", "echo '--$(touch x)' >.git/rebase-merge/strategy_opts"],
    ["an author with a shell's words", "echo 'GIT_AUTHOR_NAME=$(touch x)' >.git/rebase-merge/author-script"],
    ["a file of another kind", "ln -s /etc/passwd .git/rebase-merge/message-squash"],
    ["a file that git does not write", "echo x >.git/rebase-merge/post-hook"],
    ["a step in other letters", "printf '\\tx\\ttouch x\\n' >>.git/rebase-merge/git-rebase-todo"],
    ["a step that no version of git has yet", "echo 'shell touch x' >>.git/rebase-merge/git-rebase-todo"],
    ["another branch to move", "echo refs/replace/x >.git/rebase-merge/head-name"],
    ["steps past the limit", "yes '# x' | head -c 2000000 >>.git/rebase-merge/git-rebase-todo"],
    ["files past the limit", "cd .git/rebase-merge && seq -f %05.f 1 10001 | xargs touch"],
    ["options of git apply", "mkdir .git/rebase-apply && echo --unsafe-paths >.git/rebase-apply/apply-opt"],
    ["a bisect with a shell's words", "echo 'git bisect start $(touch x)' >.git/BISECT_LOG"],
    [
      "a sequence with a strategy",
      "mkdir .git/sequencer; printf '[options]\\n\\tstrategy = evil\\n' >.git/sequencer/opts",
    ],
  ])("an operation is put aside with %s", async (_, script) => {
    const { runs, workDir } = await repositoryWorld();
    const { refusals, output } = await runs(`git rebase main side; ${script}`, { git: true });
    expect(heldBack(refusals, workDir), output).toHaveLength(1);
  });

  test("what a detached command left is held back by a session that starts after it", async () => {
    const { backend, workDir, root, again } = await repositoryWorld();
    const mark = join(root, "ran");
    const script = `git init -q new && git -C new config core.fsmonitor 'touch ${mark}'; ${TODO(mark)}`;
    const child = await backend.spawn({ argv: ["bash", "-c", script], env: AUTHOR, lifetime: "detached" });
    await child.exit;
    await backend.close();
    await (await again()).bash("true");
    git(join(workDir, "new"), "status");
    git(workDir, "rebase", "--continue");
    expect(existsSync(mark)).toBe(false);
    expect(readdirSync(join(workDir, ".git"))).toContain("rebase-merge.held-back");
  });

  test("names need not be UTF-8: a planted repository is found, and a file in .git put aside", async () => {
    const { runs, workDir, root } = await repositoryWorld();
    const mark = join(root, "ran");
    const name = String.raw`$'a\xff\xc3'`;
    const { refusals } = await runs(
      `git init -q ${name}/b && cd ${name}/b && git config core.fsmonitor 'touch ${mark}' && printf '#!/bin/sh\ntouch ${mark}\n' >.git/hooks/${name} && cd - && touch .git/${name}`,
    );
    expect(heldBack(refusals, workDir)).toHaveLength(3);
    execFileSync("bash", ["-c", `cd ${name}/b && git status`], { cwd: workDir, stdio: "pipe" });
    expect(existsSync(mark)).toBe(false);
  });

  test("240 MB of line ends in packed-refs end no process, and a replacement among them is found", async () => {
    const { runs, workDir } = await repositoryWorld();
    git(workDir, "pack-refs", "--all");
    const script = `r=$(git rev-parse HEAD); yes '' | head -c 240000000 >>.git/packed-refs; echo "$r refs/replace/$r" >>.git/packed-refs`;
    const { refusals } = await runs(script);
    expect(heldBack(refusals, workDir)).toEqual([".git/packed-refs"]);
    expect(readFileSync(join(workDir, ".git/packed-refs")).includes("refs/replace")).toBe(false);
  }, 60_000);

  test("files of the project that a configuration names are read-only, also those of the person's own", async () => {
    const { runs, workDir, root, file } = await repositoryWorld();
    file("home/.gitconfig", `[core]\n\thooksPath = hooks\n[filter "x"]\n\tclean = python3 clean.py\n`);
    git(workDir, "config", "alias.x", "!sh ./alias.sh");
    const paths = ["hooks/pre-commit", "clean.py", "alias.sh"];
    for (const path of paths) file(`ws/${path}`);
    const { output } = await runs([...paths, "other.sh"].map((path) => `echo x >>${path}`).join("\n"));
    expect(output.match(/Read-only file system/g), `${root}\n${output}`).toHaveLength(paths.length);
  });

  test("a rebase that the person had begun before is kept, and cannot be changed", async () => {
    const { runs, workDir } = await repositoryWorld();
    git(workDir, "rebase", "main", "side");
    const { refusals, output } = await runs(
      "echo x >>.git/rebase-merge/git-rebase-todo; cat .git/rebase-merge/head-name",
    );
    expect(output).toContain("Read-only file system");
    expect(output).toContain("refs/heads/side");
    expect(heldBack(refusals, workDir)).toEqual([]);
    expect(git(workDir, "status")).toContain("rebase in progress");
  });

  test.each([
    ["info/attributes", "info/attributes", "* filter=x", "held"],
    ["info/exclude", "info/exclude", "*.evil", "Read-only"],
    ["config", "config", "[core] fsmonitor = x", "Read-only"],
    ["a hook", "hooks/post-checkout", "#!/bin/sh", "Read-only"],
    ["commondir", "commondir", "../other", "held"],
    ["config.worktree", "config.worktree", "[core] fsmonitor = x", "held"],
    ["objects of another place", "objects/info/alternates", "/srv/objects", "held"],
    ["a replacement", "refs/replace/0123456789012345678901234567890123456789", "x", "held"],
    ["a name that git does not write", "fsmonitor--daemon/cookies/x", "x", "held"],
    ["a bisect", "BISECT_LOG", "x", "held"],
  ] as const)("is read-only or put aside: %s", async (_, path, content, how) => {
    const { runs, workDir } = await repositoryWorld();
    const at = join(workDir, ".git", path);
    const { output, refusals } = await runs(`mkdir -p ${dirname(at)}; echo '${content}' >${at}`);
    if (how === "Read-only") expect(output).toContain("Read-only file system");
    else expect(heldBack(refusals, workDir)).toHaveLength(1);
    expect(existsSync(at) && readFileSync(at, "utf8").includes(content)).toBe(false);
  });

  test("a replacement in packed-refs is removed", async () => {
    const { runs, workDir } = await repositoryWorld();
    git(workDir, "pack-refs", "--all");
    const script = `echo "$(git rev-parse HEAD~1) refs/replace/$(git rev-parse HEAD)" >>.git/packed-refs`;
    const { refusals } = await runs(script);
    expect(heldBack(refusals, workDir)).toEqual([".git/packed-refs"]);
    expect(git(workDir, "cat-file", "-p", "HEAD")).toContain("\nmain\n");
  });

  test("a submodule's repository keeps its configuration; a planted one is made harmless", async () => {
    const { runs, workDir, root } = await repositoryWorld();
    repository(join(root, "lib"));
    git(workDir, "-c", "protocol.file.allow=always", "submodule", "add", "-q", join(root, "lib"), "lib");
    const mark = join(root, "ran");
    const { output, refusals } = await runs(
      `for each in lib new; do mkdir -p .git/modules/$each; echo '[core] fsmonitor = "touch ${mark}"' >>.git/modules/$each/config; done
       cp -r .git/HEAD .git/objects .git/refs .git/modules/new/`,
    );
    // First seen only now, so it is a new one too: both are made harmless.
    expect(heldBack(refusals, workDir)).toContain(".git/modules/new/config");
    git(join(workDir, "lib"), "status");
    git(workDir, "--git-dir", ".git/modules/new", "status");
    expect(existsSync(mark), output).toBe(false);
  });
});

describe.skipIf(noSandbox !== undefined)("protected files and repositories", () => {
  test("are protected at any depth, and among thousands of files", async () => {
    const place = await world({ isProtected: (path) => startUpFile(path) !== undefined });
    const deep = "org/team/group/proj";
    repository(join(place.workDir, deep));
    repository(join(place.workDir, "lib"));
    place.file("ws/deep/x/y/z/.vscode/tasks.json", "{}");
    for (let count = 0; count < 2_100; count++) place.file(`ws/.z/${count}`, "");
    const paths = [`${deep}/.git/hooks/pre-commit`, "deep/x/y/z/.vscode/tasks.json", "lib/.git/config"];
    const { output } = await place.bash(paths.map((path) => `echo x >>${path}`).join("\n"));
    expect(output.match(/Read-only file system/g)).toHaveLength(paths.length);
  });

  test("a new repository six levels deep starts no monitor when the person looks at it", async () => {
    const place = await world();
    const mark = join(place.root, "ran");
    const folder = "a/b/c/d/e/f";
    const script = `mkdir -p ${folder} && cd ${folder} && git init -q . && git config core.fsmonitor 'touch ${mark}; false' && git config gc.recentObjectsHook 'touch ${mark}'`;
    const { refusals } = await place.bash(script, { env: AUTHOR });
    expect(heldBack(refusals, place.workDir)).toEqual([`${folder}/.git/config`]);
    git(join(place.workDir, folder), "status");
    git(join(place.workDir, folder), "gc", "--prune=now");
    expect(existsSync(mark)).toBe(false);
  });
});

describe.skipIf(noSandbox !== undefined)("git work in the sandbox", () => {
  const SEEN: SandboxAccess = { git: true };
  test.each([
    [
      "a clone of a local folder, and a commit",
      "git clone -q . copy && cd copy && echo x >y && git add . && git commit -qm y",
      {},
    ],
    [
      "a merge with a conflict",
      "git merge side; echo both >file && git add file && git commit -qm merged && git log --oneline | head -1",
      SEEN,
    ],
    [
      "a rebase with conflicts",
      "git rebase main side; echo both >file && git add file && { git rebase --continue; echo two >file; git add file; git rebase --continue; }",
      SEEN,
    ],
    [
      "a cherry-pick with a conflict",
      "git cherry-pick side; echo both >file && git add file && git cherry-pick --continue",
      SEEN,
    ],
    ["a revert of several", "git revert --no-edit HEAD", SEEN],
    ["a stash", "echo z >file && git stash && git stash pop", SEEN],
    [
      "a worktree",
      "git worktree add -q wt side && cd wt && echo w >w && git add . && git commit -qm w && cd .. && git worktree remove wt",
      {},
    ],
    [
      "a bisect",
      "git checkout -q side && git bisect start HEAD HEAD~2 && git bisect run true && git bisect reset",
      SEEN,
    ],
    ["branches and tags", "git branch new && git tag -a -m t v1 && git branch -D new && git pack-refs --all", {}],
    ["gc", "git gc -q && git fsck", {}],
    ["amending", "git commit -q --amend -m again", SEEN],
    [
      "a submodule",
      "git clone -q . ../lib 2>/dev/null; git init -q sub && git -C sub commit -q --allow-empty -m x && git -c protocol.file.allow=always submodule add -q ./sub mod && git commit -qm sub",
      { ...SEEN, write: [".git/config"] },
    ],
  ] as const)("%s", async (_, script, within: SandboxAccess) => {
    const { runs, workDir } = await repositoryWorld();
    const { exit, output, refusals } = await runs(script, {
      ...within,
      ...(within.write !== undefined && { write: within.write.map((path) => join(workDir, path)) }),
    });
    expect({ exit, output }).toMatchObject({ exit: { how: "exited", code: 0 } });
    expect(refusals, output).toEqual([]);
    expect(readdirSync(join(workDir, ".git")).filter((name) => name.includes("held-back"))).toEqual([]);
  });
});
