import type { CommandSpec, OptionTable } from "../spec.ts";

const MERGING: OptionTable = {
  flags:
    "--abort --continue --skip --quit --edit-todo -q --quiet -v --verbose --no-edit -e --edit --ff --no-ff " +
    "--ff-only --squash --no-squash --commit --no-commit -n " +
    "--stat --no-stat --signoff -s --autostash --no-autostash --allow-unrelated-histories --progress --no-progress " +
    "--no-verify --allow-empty --keep-redundant-commits",
  values: {
    "-m --message": "text",
    "-X --strategy-option": "text",
    "--strategy": "text",
    "--into-name": "text",
    "--mainline": "text",
  },
};

/** Subcommands of git that make commits, bring them in or take them back, or check them out. */
export const GIT_HISTORY: readonly CommandSpec[] = [
  {
    names: ["commit"],
    risk: "medium",
    why: "commits",
    ordinary: true,
    options: {
      flags:
        "-a --all -q --quiet -v --verbose --amend --no-edit -n --no-verify --allow-empty --allow-empty-message -s " +
        "--signoff --dry-run --short --porcelain --reset-author --no-gpg-sign -o --only -i --include --no-status -p " +
        "--patch",
      values: {
        "-m --message": "text",
        "-F --file": "read",
        "--author": "text",
        "--date": "text",
        "-C --reuse-message": "text",
        "-c --reedit-message": "text",
        "--fixup": "text",
        "--squash": "text",
        "--trailer": "text",
        "--cleanup": "text",
        "-t --template": "read",
      },
      optional: { "-S --gpg-sign": "text", "-u --untracked-files": "text" },
      raise: { "-S --gpg-sign": ["medium", "signs with your key"] },
    },
    operands: { rest: "read" },
    match: ["git commit -m 'fix: handle ; && | in parser'", "git commit --amend --no-edit", "git commit -am wip"],
    notMatch: ["git commit --what"],
  },
  {
    names: ["checkout", "switch", "restore"],
    risk: "medium",
    why: "changes what is checked out",
    ordinary: true,
    options: {
      flags:
        "-q --quiet -f --force -d --detach --guess --no-guess -t --track --no-track -m --merge -p --patch --ours " +
        "--theirs --staged -S -W --worktree --discard-changes --progress --no-progress --ignore-unmerged --overlay " +
        "--no-overlay",
      values: {
        "-b": "text",
        "-B": "text",
        "-c --create": "text",
        "-C --force-create": "text",
        "--orphan": "text",
        "-s --source": "text",
        "--conflict": "text",
      },
    },
    operands: { rest: "write" },
    match: [
      "git checkout -b topic",
      "git switch main",
      "git restore --staged src/a.ts",
      "git checkout HEAD~1 -- src/a.ts",
      "git switch -c topic",
    ],
    notMatch: ["git checkout --pathspec-from-file=x"],
  },
  {
    names: ["reset"],
    risk: "medium",
    why: "takes commits or changes back",
    ordinary: true,
    options: { flags: "--soft --mixed --hard --merge --keep -q --quiet -p --patch -N --intent-to-add --no-refresh" },
    operands: { rest: "write" },
    match: ["git reset --hard HEAD~1", "git reset src/a.ts"],
    notMatch: ["git reset --what"],
  },
  {
    names: ["merge", "cherry-pick", "revert"],
    risk: "medium",
    why: "brings in or takes back commits",
    ordinary: true,
    options: { ...MERGING, flags: `${MERGING.flags ?? ""} -x` },
    operands: { rest: "text" },
    match: ["git merge --no-ff topic", "git cherry-pick -x abc123", "git revert --no-edit HEAD", "git merge --abort"],
    notMatch: ["git merge --what"],
  },
  {
    names: ["rebase"],
    risk: "medium",
    why: "rewrites commits",
    ordinary: true,
    options: {
      ...MERGING,
      flags:
        `${MERGING.flags ?? ""} -i --interactive -f --force-rebase --root --autosquash --no-autosquash ` +
        "--update-refs --keep-base --rebase-merges -r",
      values: { ...MERGING.values, "--onto": "text", "-x --exec": "script", "-C": "text" },
      raise: { "-x --exec": ["medium", "runs a command for every commit"] },
    },
    operands: { rest: "text" },
    match: ["git rebase main", "git rebase --continue", "git rebase -i HEAD~3", "git rebase -x 'npm test' main"],
    notMatch: ["git rebase -x 'curl https://x.example' HEAD~2", "git rebase --what"],
  },
  {
    names: ["bisect"],
    risk: "medium",
    why: "checks out other commits",
    subcommands: [
      {
        names: ["run"],
        risk: "medium",
        why: "runs a command for every commit",
        syntax: "posix",
        operands: { first: ["command"] },
        match: ["git bisect run npm test"],
        notMatch: ["git bisect run rm -rf /"],
      },
      {
        names: ["start", "good", "bad", "old", "new", "skip", "reset", "log", "view", "terms"],
        risk: "medium",
        why: "checks out other commits",
        ordinary: true,
        operands: { rest: "text" },
        match: ["git bisect start HEAD v1.0", "git bisect good", "git bisect reset"],
        notMatch: ["git bisect start --term-old=a"],
      },
    ],
    match: ["git bisect"],
    notMatch: ["git bisect --x"],
  },
];
