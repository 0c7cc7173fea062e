// Ways to leave something in a repository that the person's git, outside the sandbox, then runs. A canary tells.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mustBeHere } from "../support/here.ts";
import { noSandbox, world } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

const ENV = {
  ...{ GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.org", GIT_COMMITTER_NAME: "Ada" },
  ...{ GIT_COMMITTER_EMAIL: "ada@example.org", GIT_EDITOR: "true", GIT_PAGER: "cat" },
};

/** What a person does afterwards, in the workspace and in each repository in it. */
const LOOKS = `
  for d in . sub lib a/b node_modules/sub bare.git "$(printf 'x\\377')"; do
    [ -d "$d" ] && ( cd "$d"; for c in status 'status --porcelain' 'diff' 'log -p -1' 'add -A' 'commit -qm again --allow-empty' \\
      'rebase --continue' 'am --continue' 'cherry-pick --continue' 'revert --continue' 'bisect good' 'bisect reset' 'stash' \\
      'checkout -q -b other' 'gc -q' 'fetch -q' 'submodule status' 'show HEAD' 'merge -q side' 'blame file' 'repack -q'; do
        timeout 20 git $c; done ) >/dev/null 2>&1 </dev/null
  done`;

/** C: the canary's command. Each is run in a repository with the branches main and side. */
const CONFIG = `printf '[core]\\n\\tfsmonitor = C; :\\n'`;
const REPO = `git init -q`;
const ATTACKS: readonly string[] = [
  `${CONFIG} >>.git/config`,
  `git config core.fsmonitor 'C; :'`,
  `git config --worktree core.fsmonitor 'C; :'; ${CONFIG} >.git/config.worktree`,
  `mkdir h; printf '#!/bin/sh\\nC\\n' >h/pre-commit; chmod +x h/pre-commit; mv h/pre-commit .git/hooks/`,
  `cp -r .git g && ${CONFIG} >>g/config && echo ../g >.git/commondir`,
  `cp -r .git g && ${CONFIG} >>g/config && mv .git old && mv g .git`,
  `cp -r .git g && ${CONFIG} >>g/config && rm -rf .git && echo 'gitdir: g' >.git`,
  `${REPO} sub && ${CONFIG} >>sub/.git/config`,
  `${REPO} a/b && ${CONFIG} >>a/b/.git/config`,
  `${REPO} sub && printf '[include]\\npath=../../evil\\n' >>sub/.git/config && ${CONFIG} >evil`,
  `${REPO} sub && printf '[includeIf "onbranch:**"]\\npath=../../evil\\n' >>sub/.git/config && ${CONFIG} >evil`,
  `${REPO} sub && printf '[alias]\\nstatus = !C\\n[filter "x"]\\nclean = C\\n' >>sub/.git/config && echo '* filter=x' >sub/.gitattributes && echo x >sub/y`,
  `${REPO} sub && printf '[diff "x"]\\ntextconv = C\\n' >>sub/.git/config && echo '* diff=x' >sub/.gitattributes && cd sub && echo x >y && git add y && git commit -qm y`,
  `${REPO} sub && printf '[diff]\\nexternal = C\\n' >>sub/.git/config && cd sub && echo x >y && git add y && git commit -qm y && echo z >y`,
  `${REPO} sub && printf '[gpg]\\nprogram = C\\n[commit]\\ngpgsign = true\\n' >>sub/.git/config`,
  `${REPO} sub && printf '[core]\\nhooksPath = .\\n' >>sub/.git/config && printf '#!/bin/sh\\nC\\n' >sub/pre-commit && chmod +x sub/pre-commit`,
  `${REPO} sub && printf '[core]\\nsshCommand = C; :\\n[remote "origin"]\\nurl = ssh://h.invalid/x\\nfetch = +refs/heads/*:refs/remotes/origin/*\\n' >>sub/.git/config`,
  `${REPO} sub && printf '[remote "origin"]\\nurl = ext::sh -c C\\nuploadpack = C; :\\n[protocol "ext"]\\nallow = always\\n' >>sub/.git/config`,
  `${REPO} sub && printf '[gc]\\nrecentObjectsHook = C\\n[core]\\nalternateRefsCommand = C\\n' >>sub/.git/config`,
  `${REPO} sub && printf '\\357\\273\\277[core]fsmonitor = C; :\\n' >sub/.git/config`,
  `${REPO} sub && printf '[core]\\\\\\n' >>sub/.git/config; printf '[branch "x"]\\nmergeoptions = -s evil\\n[core]\\nfsMonitor = C; :\\n' >>sub/.git/config`,
  `${REPO} sub && ln -s ../../evil sub/.git/config.worktree; ${CONFIG} >evil; git -C sub config extensions.worktreeConfig true`,
  `${REPO} sub && ${CONFIG} >evil && rm sub/.git/config && ln -s ../../evil sub/.git/config`,
  `${REPO} sub && (head -c 70000 /dev/zero | tr '\\0' '#'; echo; ${CONFIG}) >>sub/.git/config`,
  `${REPO} sub && ${CONFIG} >>sub/.git/config && chmod 0 sub/.git`,
  `${REPO} "$(printf 'x\\377')" && ${CONFIG} >>"$(printf 'x\\377')/.git/config"`,
  `${REPO} --bare bare.git && printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = C; :\\n' >>bare.git/config`,
  `${REPO} node_modules/sub && cd node_modules/sub && echo x >x && git add x && git commit -qm x && ${CONFIG} >>.git/config && cd ../.. && git add -f node_modules/sub`,
  `${REPO} sub --separate-git-dir=elsewhere && ${CONFIG} >>elsewhere/config`,
  `git worktree add -q sub side; ${CONFIG} >.git/worktrees/sub/config.worktree; echo /nowhere >.git/worktrees/sub/commondir`,
  `mkdir -p evil && cp -r .git/. evil/ && ${CONFIG} >>evil/config && git worktree add -q sub side && echo $PWD/evil >.git/worktrees/sub/commondir`,
  `mkdir -p .git/modules/lib && cp -r .git/HEAD .git/objects .git/refs .git/modules/lib && ${CONFIG} >.git/modules/lib/config && mkdir lib && echo 'gitdir: ../.git/modules/lib' >lib/.git`,
  `git rebase main side; echo 'x C' >>.git/rebase-merge/git-rebase-todo`,
  `git rebase main side; printf 'exec\\tC\\n' >.git/rebase-merge/git-rebase-todo.backup; cp .git/rebase-merge/git-rebase-todo.backup .git/rebase-merge/git-rebase-todo`,
  `git rebase main side --exec C`,
  `git rebase -i --exec 'C' main~1; git rebase --edit-todo`,
  `git -c sequence.editor='echo "x C" >' rebase -i main~1 main; git -c sequence.editor='printf "break\\nx C\\n" >' rebase -i main~1 main`,
  `git rebase main side; mkdir -p .git/rebase-apply; echo 1 >.git/rebase-apply/next`,
  `git cherry-pick side~1 side; printf 'x C\\n' >>.git/sequencer/todo`,
  `git rebase -s evil main side; echo evil >.git/rebase-merge/strategy`,
  `git rebase main side; printf "GIT_AUTHOR_NAME='a'\\nC\\n" >.git/rebase-merge/author-script`,
  `git bisect start HEAD HEAD~1; echo "'x'; C;" >.git/BISECT_NAMES`,
  `echo $PWD/evil >.git/objects/info/alternates; mkdir -p evil`,
  `mkdir -p .git/info; echo '* filter=x' >.git/info/attributes; git config filter.x.clean C`,
  `mkdir -p .git/fsmonitor--daemon; printf '#!/bin/sh\\nC\\n' >.git/hooks/fsmonitor-watchman`,
  `printf '#!/bin/sh\\nC\\n' >clean.sh`, // the person's filter is a file of the project
  `rm -f clean.sh; printf '#!/bin/sh\\nC\\n' >clean.sh; chmod +x clean.sh; mv -f clean.sh clean.sh`,
  `sed -i 's/cat/C; cat/' clean.sh; echo x >>file`,
  `mv clean.sh c; printf '#!/bin/sh\\nC\\ncat\\n' >clean.sh; chmod +x clean.sh; echo x >>file`,
  `${CONFIG} >>shared.config`, // the person's configuration includes it
  `mv shared.config s; ${CONFIG} >shared.config`,
  `ln -sf evil shared.config; ${CONFIG} >evil`,
];

describe.skipIf(noSandbox !== undefined)("no command leaves something that the person's git runs", () => {
  const attack = async (script: string, contained: boolean): Promise<boolean> => {
    const place = await world();
    const { workDir, root } = place;
    const mark = join(root, "canary");
    const here = { cwd: workDir, env: { ...process.env, ...ENV, HOME: place.home, GIT_CEILING_DIRECTORIES: root } };
    const sh = (text: string) => void spawnSync("bash", ["-c", text], here);
    mkdirSync(workDir, { recursive: true });
    writeFileSync(join(workDir, "clean.sh"), "#!/bin/sh\ncat\n", { mode: 0o755 });
    writeFileSync(join(workDir, "shared.config"), "[x]\n");
    const commit = (text: string) => `echo ${text} >file; git add file; git commit -qm ${text}`;
    sh(`git init -q -b main . && echo 'file filter=own' >.gitattributes && git config filter.own.clean ./clean.sh &&
      git config include.path ../shared.config && git add . && git commit -qm first; ${commit("one")};
      git checkout -qb side; ${commit("side")}; ${commit("two")}; git checkout -q main; ${commit("main")}`);
    await place.bash("true"); // what exists now existed before
    const command = script.replaceAll(/\bC\b/g, `touch ${mark}`);
    if (contained) await place.bash(command, { env: ENV, within: { git: true } });
    else sh(command);
    const ranAtOnce = existsSync(mark);
    sh(LOOKS);
    await place.backend.close();
    return existsSync(mark) && (contained || !ranAtOnce);
  };

  test.each(ATTACKS)("attack %# is held", async (script) => {
    expect(await attack(script, true)).toBe(false);
  });

  test("without the sandbox, such a command does", async () => {
    expect(await attack(ATTACKS[7] ?? "", false)).toBe(true);
  });
});
