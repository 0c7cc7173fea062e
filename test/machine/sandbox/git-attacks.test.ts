// Ways to leave something in a repository that the person's git, outside the sandbox, then runs. A canary tells.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startUpFile } from "../../../src/machine/places/start-up.ts";
import { representatives } from "../../support/cases.ts";
import { mustBeHere } from "../../support/here.ts";
import { noSandbox, world, worldFolder } from "./world.ts";

const ENV = {
  ...{ GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.org", GIT_COMMITTER_NAME: "Ada" },
  ...{ GIT_COMMITTER_EMAIL: "ada@example.org", GIT_EDITOR: "true", GIT_PAGER: "cat" },
};

/**
 * What a person does afterwards, in the workspace and in each repository in it. A command is missing when another one
 * runs the same programs of the configuration: `show` those of `log -p`, `repack` those of `gc`.
 */
const LOOKS = `
  for d in . sub lib a/b node_modules/sub bare.git ../out "$(printf 'x\\377')"; do
    [ -d "$d" ] && ( cd "$d"; for c in status 'diff' 'log -p -1' 'add -A' 'commit -qm again --allow-empty' \\
      'rebase --continue' 'am --continue' 'cherry-pick --continue' 'revert --continue' 'bisect good' 'bisect reset' 'stash' \\
      'checkout -q -b other' 'gc -q' 'fetch -q' 'submodule status' 'merge -q side' 'blame file'; do
        timeout 20 git $c; done ) >/dev/null 2>&1 </dev/null
  done`;

/** C: the canary's command. Each is run in a repository with the branches main and side. */
const CONFIG = `printf '[core]\\n\\tfsmonitor = C; :\\n'`;
const REPO = `git init -q`;
const REPOSITORY_WITH_MONITOR = `${REPO} sub && ${CONFIG} >>sub/.git/config`;

/** By kind, the plainest first. */
const ATTACKS: readonly (readonly [kind: string, scripts: readonly string[]])[] = [
  [
    "the repository's own folder",
    [
      `${CONFIG} >>.git/config`,
      `git config core.fsmonitor 'C; :'`,
      `git config --worktree core.fsmonitor 'C; :'; ${CONFIG} >.git/config.worktree`,
      `mkdir h; printf '#!/bin/sh\\nC\\n' >h/pre-commit; chmod +x h/pre-commit; mv h/pre-commit .git/hooks/`,
      `cp -r .git g && ${CONFIG} >>g/config && echo ../g >.git/commondir`,
      `cp -r .git g && ${CONFIG} >>g/config && mv .git old && mv g .git`,
      `cp -r .git g && ${CONFIG} >>g/config && rm -rf .git && echo 'gitdir: g' >.git`,
    ],
  ],
  [
    "a new repository",
    [
      REPOSITORY_WITH_MONITOR,
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
    ],
  ],
  [
    "a configuration in another form",
    [
      `${REPO} sub && printf '\\357\\273\\277[core]fsmonitor = C; :\\n' >sub/.git/config`,
      `${REPO} sub && printf '[core]\\\\\\n' >>sub/.git/config; printf '[branch "x"]\\nmergeoptions = -s evil\\n[core]\\nfsMonitor = C; :\\n' >>sub/.git/config`,
      `${REPO} sub && ln -s ../../evil sub/.git/config.worktree; ${CONFIG} >evil; git -C sub config extensions.worktreeConfig true`,
      `${REPO} sub && ${CONFIG} >evil && rm sub/.git/config && ln -s ../../evil sub/.git/config`,
      `${REPO} sub && (head -c 70000 /dev/zero | tr '\\0' '#'; echo; ${CONFIG}) >>sub/.git/config`,
      `${REPO} sub && ${CONFIG} >>sub/.git/config && chmod 0 sub/.git`,
      `${REPO} "$(printf 'x\\377')" && ${CONFIG} >>"$(printf 'x\\377')/.git/config"`,
      `git clone -q . sub && cd sub && printf '[include]\\n\\tpath = %s\\n' "$PWD/../evil" >>.git/config && ${CONFIG} >../evil`,
      `git clone -q . sub && cd sub && printf '[includeIf "hasconfig:remote.*.url:**"]\\n\\tpath = ../../evil\\n' >>.git/config && ${CONFIG} >../evil`,
      `git clone -q . sub && cd sub && printf '[CORE]\\tFSMonitor="C;" \\\\\\n :\\n' >>.git/config`,
      `git clone -q . sub && cd sub && printf '[core] fsmonitor = C; :\\r\\n[core]\\r\\nfsmonitor=C; :\\r\\n' >>.git/config`,
      `git clone -q . sub && cd sub && printf '[core "x"]\\na=b\\n[core]fsmonitor = C; :' >>.git/config && chmod 444 .git/config && chmod 555 .git`,
      `git clone -q . sub && mkfifo sub/.git/config.worktree; ${CONFIG} >>sub/.git/config`,
      `git clone -q . sub && ${CONFIG} >>sub/.git/config && touch -d 2001-01-01 sub/.git/config sub/.git sub .`,
    ],
  ],
  [
    "a repository's folder elsewhere",
    [
      `${REPO} --bare bare.git && printf '[core]\\nbare = false\\nworktree = .\\nfsmonitor = C; :\\n' >>bare.git/config`,
      `${REPO} node_modules/sub && cd node_modules/sub && echo x >x && git add x && git commit -qm x && ${CONFIG} >>.git/config && cd ../.. && git add -f node_modules/sub`,
      `${REPO} sub --separate-git-dir=elsewhere && ${CONFIG} >>elsewhere/config`,
      `git worktree add -q sub side; ${CONFIG} >.git/worktrees/sub/config.worktree; echo /nowhere >.git/worktrees/sub/commondir`,
      `mkdir -p evil && cp -r .git/. evil/ && ${CONFIG} >>evil/config && git worktree add -q sub side && echo $PWD/evil >.git/worktrees/sub/commondir`,
      `mkdir -p .git/modules/lib && cp -r .git/HEAD .git/objects .git/refs .git/modules/lib && ${CONFIG} >.git/modules/lib/config && mkdir lib && echo 'gitdir: ../.git/modules/lib' >lib/.git`,
    ],
  ],
  [
    "an operation that the person continues",
    [
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
      `mkdir -p .git/rebase-apply; cd .git/rebase-apply; echo 1 | tee next last; echo C >apply-opt; : >applying`,
      `git cherry-pick side~1 side; printf '[options]\\n\\tstrategy = evil\\n' >.git/sequencer/opts`,
      `git cherry-pick side~1 side; printf '[options]\\n\\tgpg-sign = x; C\\n' >.git/sequencer/opts`,
      `git rebase main side; printf "%s" '-Sx$(C)' >.git/rebase-merge/gpg_sign_opt`,
      `git rebase main side; echo "--x='a'; C" >.git/rebase-merge/strategy_opts`,
      `git rebase main side; printf 'merge -s evil side\\nm -C HEAD side\\n\\x0bexec C\\n' >.git/rebase-merge/git-rebase-todo`,
      `git rebase main side; printf 'pick HEAD\\rexec C\\n' >>.git/rebase-merge/git-rebase-todo; printf '\\xef\\xbb\\xbfx C\\n' >>.git/rebase-merge/git-rebase-todo`,
      `git bisect start HEAD HEAD~1; echo 'C' >.git/BISECT_RUN; printf 'git bisect start; C\\n' >.git/BISECT_LOG`,
    ],
  ],
  [
    "a file that git reads",
    [
      `echo $PWD/evil >.git/objects/info/alternates; mkdir -p evil`,
      `mkdir -p .git/info; echo '* filter=x' >.git/info/attributes; git config filter.x.clean C`,
      `mkdir -p .git/fsmonitor--daemon; printf '#!/bin/sh\\nC\\n' >.git/hooks/fsmonitor-watchman`,
    ],
  ],
  [
    "a file of the project that the person's configuration starts or includes",
    [
      `printf '#!/bin/sh\\nC\\n' >clean.sh`, // the person's filter is a file of the project
      `rm -f clean.sh; printf '#!/bin/sh\\nC\\n' >clean.sh; chmod +x clean.sh; mv -f clean.sh clean.sh`,
      `sed -i 's/cat/C; cat/' clean.sh; echo x >>file`,
      `mv clean.sh c; printf '#!/bin/sh\\nC\\ncat\\n' >clean.sh; chmod +x clean.sh; echo x >>file`,
      `${CONFIG} >>shared.config`, // the person's configuration includes it
      `mv shared.config s; ${CONFIG} >shared.config`,
      `ln -sf evil shared.config; ${CONFIG} >evil`,
    ],
  ],
  [
    "a folder that the search of the workspace does not see",
    [
      `${REPO} node_modules/.x && ${CONFIG} >>node_modules/.x/.git/config && mkdir sub && echo 'gitdir: ../node_modules/.x/.git' >sub/.git`,
      `${REPO} node_modules/.x && ${CONFIG} >>node_modules/.x/.git/config && ${REPO} sub && echo ../../node_modules/.x/.git >sub/.git/commondir`,
      `${REPO} node_modules/.x && ${CONFIG} >>node_modules/.x/.git/config && ln -s node_modules/.x/.git lib && mkdir -p sub && ln -s ../lib sub/.git`,
      `${REPO} sub && cd sub && git commit -q --allow-empty -m x && git worktree add -q ../a/b && git config extensions.worktreeConfig true && ${CONFIG} >.git/worktrees/b/config.worktree`,
      `${REPO} sub && mkdir -p sub/.git/modules/m/modules/n && cp -r .git/HEAD .git/objects .git/refs sub/.git/modules/m/modules/n && ${CONFIG} >sub/.git/modules/m/modules/n/config && mkdir lib && echo 'gitdir: ../sub/.git/modules/m/modules/n' >lib/.git`,
      `mkdir -p sub && cd sub && cp ../.git/HEAD . && echo ../elsewhere >commondir && cp -r ../.git ../elsewhere && printf '[core]\\nbare = false\\nworktree = ..\\nfsmonitor = C; :\\n' >>../elsewhere/config`,
    ],
  ],
  [
    "a template and a clone",
    [
      `mkdir -p t/hooks && printf '#!/bin/sh\\nC\\n' >t/hooks/post-checkout && chmod +x t/hooks/* && git init -q --template=t sub && cd sub && git commit -q --allow-empty -m x`,
      `git clone -q . sub && cd sub && git config remote.origin.uploadpack 'C; git-upload-pack'`,
      `git clone -q . sub && cd sub && git config remote.origin.receivepack 'C; :' && git config remote.origin.vcs evil`,
      `git clone -q . sub && cd sub && git config credential.helper '!C' && git config remote.origin.url https://127.0.0.1:9/x`,
      `git clone -q . sub && cd sub && git config merge.evil.driver 'C; false' && echo '* merge=evil' >.gitattributes && git checkout -qb side && echo s >file && git commit -qam s && git checkout -q - && echo m >file && git commit -qam m`,
      `git clone -q . sub && cd sub && git config pull.twohead evil && git config submodule.x.update '!C' && git config branch.main.mergeoptions '-s evil'`,
      `git clone -q . sub && cd sub && git config filter.evil.process 'C' && git config filter.evil.required true && echo '* filter=evil' >.git/info/attributes && echo y >file`,
      `git clone -q . sub && cd sub && git config diff.evil.command 'C' && echo '* diff=evil' >.git/info/attributes && echo y >file`,
      `git clone -q . sub && cd sub && git config pager.log 'C; cat' && git config core.pager 'C; cat' && git config interactive.diffFilter 'C'`,
      `git clone -q . sub && cd sub && git config core.editor 'C; :' && git config sequence.editor 'C; :' && git config trailer.x.command 'C'`,
      `git clone -q . sub && cd sub && git config core.askPass 'C' && git config core.gitProxy 'C' && git config remote.origin.url git://127.0.0.1:9/x`,
      `git clone -q . sub && cd sub && git config hook.x.command 'C' && git config hook.x.event pre-commit`,
      `git clone -q . sub && cd sub && git config gpg.ssh.defaultKeyCommand 'C' && git config gpg.format ssh && git config commit.gpgsign true && git config user.name a`,
      `git clone -q . x && ${CONFIG} >>x/.git/config && mkdir -p sub && mv x/.git sub/.git`,
      `git clone -q . sub && cp sub/.git/hooks/*.sample . 2>/dev/null; printf '#!/bin/sh\\nC\\n' >h && chmod +x h && for n in pre-commit post-checkout post-merge reference-transaction post-index-change; do ln ./h sub/.git/hooks/$n; done`,
      `git clone -q . sub && rm -rf sub/.git/hooks && mkdir hh && printf '#!/bin/sh\\nC\\n' >hh/pre-commit && chmod +x hh/pre-commit && ln -s ../../hh sub/.git/hooks`,
    ],
  ],
];

/** The same, after what the person had set up. */
const PREPARED: readonly (readonly [setup: string, script: string])[] = [
  [
    "git worktree add -q -b out ../out",
    `d=.git/worktrees/out/rebase-merge; mkdir -p $d; echo 'x C' >$d/git-rebase-todo; echo refs/heads/out >$d/head-name;
      git rev-parse HEAD | tee $d/onto >$d/orig-head; echo 1 | tee $d/msgnum >$d/end; : >$d/interactive`,
  ],
  [
    "git worktree add -q -b out ../out",
    `${CONFIG} >.git/worktrees/out/config.worktree; git config extensions.worktreeConfig true`,
  ],
  [
    "git worktree add -q -b out ../out",
    `cp -r .git g && ${CONFIG} >>g/config && echo $PWD/g >.git/worktrees/out/commondir`,
  ],
  [
    "git config core.hooksPath .githooks",
    "mkdir .githooks; printf '#!/bin/sh\\nC\\n' >.githooks/pre-commit; chmod +x .githooks/*",
  ],
  [
    "git config core.hooksPath .githooks",
    "mkdir h; printf '#!/bin/sh\\nC\\n' >h/pre-commit; chmod +x h/*; ln -s h .githooks",
  ],
  ["git config include.path ../coming.config", `${CONFIG} >coming.config`],
  [
    "git config core.fsmonitor tools/monitor",
    "mkdir -p tools; printf '#!/bin/sh\\nC\\n' >tools/monitor; chmod +x tools/monitor",
  ],
  [
    "git config --global core.hooksPath .hooks",
    "mkdir .hooks; printf '#!/bin/sh\\nC\\n' >.hooks/pre-commit; chmod +x .hooks/*",
  ],
  [
    "mkdir -p ~/dots && echo '[include] path = coming' >~/dots/gitconfig && ln -s dots/gitconfig ~/.gitconfig && ln -s \"$PWD/coming.config\" ~/coming",
    `${CONFIG} >coming.config`,
  ],
  [
    'mkdir -p template/hooks && git config --global init.templateDir "$PWD/template"',
    "printf '#!/bin/sh\\nC\\n' >template/hooks/post-checkout; chmod +x template/hooks/*",
  ],
  [
    "git config core.hooksPath .husky/_ && mkdir -p .husky/_ && printf '#!/bin/sh\\n. ./.husky/pre-commit\\n' >.husky/_/pre-commit && chmod +x .husky/_/pre-commit && touch .husky/pre-commit",
    "echo 'C' >>.husky/pre-commit",
  ],
];

const COMMIT = (text: string) => `echo ${text} >file; git add file; git commit -qm ${text}`;

/** The repository, set up once: each attack gets a copy. */
let repository: Promise<string> | undefined;

async function repositoryToCopy(): Promise<string> {
  const folder = worldFolder();
  writeFileSync(join(folder, "clean.sh"), "#!/bin/sh\ncat\n", { mode: 0o755 });
  writeFileSync(join(folder, "shared.config"), "[x]\n");
  const script = `git init -q -b main . && echo 'file filter=own' >.gitattributes &&
    git config filter.own.clean ./clean.sh && git config include.path ../shared.config && git add . &&
    git commit -qm first; ${COMMIT("one")}; git checkout -qb side; ${COMMIT("side")}; ${COMMIT("two")};
    git checkout -q main; ${COMMIT("main")}`;
  await shell(script, { cwd: folder, env: { ...process.env, ...ENV, HOME: folder } });
  return folder;
}

/** Runs a script as the person does: outside. Its output and its exit code are of no interest. */
async function shell(script: string, options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
  await once(spawn("bash", ["-c", script], { ...options, stdio: "ignore" }), "close");
}

/** Resolves to whether a program of the attacker has run outside after the script, contained or not. */
async function attack(script: string, contained: boolean, setup = "true"): Promise<boolean> {
  const place = await world({ isProtected: (path) => startUpFile(path) !== undefined });
  const { workDir, root } = place;
  const mark = join(root, "canary");
  const here = { cwd: workDir, env: { ...process.env, ...ENV, HOME: place.home, GIT_CEILING_DIRECTORIES: root } };
  repository ??= repositoryToCopy();
  await cp(await repository, workDir, { recursive: true, preserveTimestamps: true });
  await shell(`git update-index -q --refresh; ${setup}`, here);
  await place.bash("true"); // what exists now existed before
  const command = script.replaceAll(/(?<=\b|\\n)C\b/g, `touch ${mark}`);
  if (contained) await place.bash(command, { env: ENV, within: { git: true } });
  else await shell(command, here);
  const ranAtOnce = existsSync(mark);
  await shell(LOOKS, here);
  await shell("git clone -q . ../cloned", here);
  await place.backend.close();
  const ranOutside = existsSync(mark) && (contained || !ranAtOnce);
  // Now, not a hundred at the end of the file. Some attacks take away the owner's access.
  await shell('chmod -R u+rwX "$ROOT"; rm -rf "$ROOT"', { cwd: "/", env: { ...process.env, ROOT: root } });
  return ranOutside;
}

mustBeHere("the sandbox", noSandbox);

describe.skipIf(noSandbox !== undefined)("no command leaves something that the person's git runs", () => {
  const rows = ATTACKS.flatMap(([kind, scripts]) =>
    representatives(scripts, 1).map((script, index) => [kind, index, script] as const),
  );
  // They wait for programs most of the time.
  test.concurrent.each(rows)("%s, attack %i, is held", async (_kind, _index, script) => {
    expect(await attack(script, true)).toBe(false);
  });

  test.concurrent.each(representatives(PREPARED, 2))(
    "attack %# on what the person had set up is held",
    async (setup, script) => {
      expect(await attack(script, true, setup)).toBe(false);
    },
  );

  test("without the sandbox, such a command does", async () => {
    expect(await attack(REPOSITORY_WITH_MONITOR, false)).toBe(true);
  });
});
