import type { CommandSpec, Finding, OptionTable, Raise, Use } from "../spec.ts";
import { LOG, signatures, transports } from "./git-options.ts";
import { runsProgram } from "./git-settings.ts";

/** Subcommands of git that list when they are given nothing else, and change what they list otherwise. */
export const GIT_LISTS: readonly CommandSpec[] = [
  {
    names: ["branch"],
    risk: "low",
    options: {
      flags:
        "-a --all -r --remotes -v -vv --verbose --list -l --show-current -q --quiet -i --ignore-case --no-color " +
        "--no-column --no-abbrev -d --delete -D -m --move -M -c --copy -C -f --force -u --unset-upstream --no-track " +
        "--edit-description",
      values: {
        "--sort": "text",
        "--points-at": "text",
        "--format": "text",
        "--contains": "text",
        "--no-contains": "text",
        "-u --set-upstream-to": "text",
      },
      optional: {
        "--color": "text",
        "--column": "text",
        "--abbrev": "text",
        "--merged": "text",
        "--no-merged": "text",
        "-t --track": "text",
      },
      raise: changes(
        "-d --delete -D -m --move -M -c --copy -C -f --force --unset-upstream --no-track --edit-description",
        "-u --set-upstream-to",
        "-t --track",
      ),
    },
    operands: { rest: "text" },
    refine: (use) => [
      ...listing(
        use,
        ["--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"],
        "makes a branch",
      ),
      ...signatures(use),
    ],
    match: [
      "git branch",
      "git branch -a",
      "git branch -vv",
      "git branch --show-current",
      "git branch --list 'topic/*'",
      "git branch --merged main",
    ],
    notMatch: [
      "git branch topic",
      "git branch -D topic",
      "git branch -m old new",
      "git branch --set-upstream-to=origin/main",
    ],
  },
  {
    names: ["tag"],
    risk: "low",
    options: {
      flags: "-l --list -i --ignore-case --no-column -a --annotate -s --sign -d --delete -f --force -v --verify",
      values: {
        "--sort": "text",
        "--format": "text",
        "--contains": "text",
        "--no-contains": "text",
        "--points-at": "text",
        "-m --message": "text",
        "-F --file": "read",
      },
      optional: { "-n": "text", "--merged": "text", "--no-merged": "text", "--column": "text", "--color": "text" },
      raise: {
        ...changes("-a --annotate -d --delete -f --force", "-m --message", "-F --file"),
        "-s --sign": ["medium", "signs with your key"],
        "-v --verify": ["medium", "runs the program that checks signatures"],
      },
    },
    operands: { rest: "text" },
    refine: (use) => [
      ...listing(use, ["-l", "--list", "--contains", "--no-contains", "--merged", "--points-at", "-n"], "makes a tag"),
      ...signatures(use),
    ],
    match: ["git tag", "git tag -l 'v1.*'", "git tag --sort=-creatordate", "git tag --contains HEAD"],
    notMatch: ["git tag v1.0", "git tag -d v1.0", "git tag -a v1 -m x", "git tag -v v1"],
  },
  {
    names: ["remote"],
    risk: "low",
    options: { flags: "-v --verbose" },
    subcommands: [
      {
        names: ["get-url"],
        risk: "low",
        options: { flags: "--push --all" },
        operands: { first: ["text"] },
        match: ["git remote get-url origin"],
        notMatch: ["git remote get-url --x origin"],
      },
      {
        names: ["show"],
        risk: "medium",
        why: "asks the remote",
        options: { flags: "-n" },
        operands: { rest: "text" },
        match: ["git remote show origin"],
        notMatch: ["git remote show --x"],
      },
      {
        names: ["add", "remove", "rm", "rename", "set-url", "set-branches", "set-head", "prune", "update"],
        risk: "medium",
        why: "changes or asks remotes",
        options: {
          flags: "-f --tags --no-tags --add --delete --push -a --auto -d -n --dry-run -p --prune",
          values: { "-t": "text", "-m": "text" },
        },
        operands: { rest: "text" },
        refine: transports,
        match: ["git remote set-url origin https://evil.example/x", "git remote add up https://x.example/y.git"],
        notMatch: ["git remote add x 'ext::sh -c id'", "git remote add --mirror=push a b"],
      },
    ],
    match: ["git remote", "git remote -v"],
    notMatch: ["git remote --what"],
  },
  {
    names: ["stash"],
    risk: "medium",
    why: "puts changes aside",
    ordinary: true,
    options: {
      flags: "-u --include-untracked -a --all -k --keep-index -q --quiet -S --staged -p --patch",
      values: { "-m --message": "text" },
    },
    subcommands: [
      {
        names: ["list"],
        risk: "low",
        options: LOG,
        operands: {},
        refine: signatures,
        match: ["git stash list"],
        notMatch: ["git stash list --ext-diff"],
      },
      {
        names: ["show"],
        risk: "low",
        options: { ...LOG, flags: `${LOG.flags} --include-untracked --only-untracked` },
        operands: { rest: "text" },
        refine: signatures,
        match: ["git stash show -p", "git stash show stash@{1}"],
        notMatch: ["git stash show --ext-diff"],
      },
      {
        names: ["push", "save", "pop", "apply", "drop", "clear", "branch", "create", "store"],
        risk: "medium",
        why: "puts changes aside or brings them back",
        ordinary: true,
        options: {
          flags:
            "-u --include-untracked -a --all -k --keep-index --no-keep-index -q --quiet -S --staged -p --patch --index",
          values: { "-m --message": "text" },
        },
        operands: { rest: "read" },
        match: ["git stash push -m wip src", "git stash pop", "git stash drop stash@{0}"],
        notMatch: ["git stash push --pathspec-from-file=x"],
      },
    ],
    match: ["git stash", "git stash -u"],
    notMatch: ["git stash --what"],
  },
  {
    names: ["config"],
    risk: "low",
    options: {
      flags:
        "-l --list --global --system --local --worktree --show-origin --show-scope --name-only -z --null --includes " +
        "--no-includes --bool --int --path --type --get --get-all --get-regexp --get-urlmatch " +
        "--add --unset --unset-all --replace-all --rename-section --remove-section -e --edit",
      values: { "--default": "text", "--type": "text", "-f --file": "read" },
      raise: {
        "--add": ["medium", "changes git's settings"],
        "--unset": ["medium", "changes git's settings"],
        "--unset-all": ["medium", "changes git's settings"],
        "--replace-all": ["medium", "changes git's settings"],
        "--rename-section": ["medium", "changes git's settings"],
        "--remove-section": ["medium", "changes git's settings"],
        "-e --edit": ["high", "opens an editor"],
      },
    },
    operands: { rest: "text" },
    refine: configuration,
    match: [
      "git config --get user.name",
      "git config --list",
      "git config user.email",
      "git config --get-regexp '^remote'",
    ],
    notMatch: [
      "git config user.name Me",
      "git config core.pager 'sh -c id'",
      "git config --global alias.x '!id'",
      "git config --unset user.name",
      "git config -e",
      "git config set a.b c",
    ],
  },
  {
    names: ["worktree"],
    risk: "medium",
    why: "changes worktrees",
    ordinary: true,
    subcommands: [
      {
        names: ["list"],
        risk: "low",
        options: { flags: "-v --verbose --porcelain -z" },
        match: ["git worktree list"],
        notMatch: ["git worktree list --x"],
      },
      {
        names: ["add"],
        risk: "medium",
        why: "makes a worktree",
        ordinary: true,
        options: { flags: "-f --force --detach --no-checkout", values: { "-b": "text", "-B": "text" } },
        operands: { first: ["write", "text"] },
        match: ["git worktree add -b topic out/topic"],
        notMatch: ["git worktree add --x a"],
      },
      {
        names: ["remove", "prune", "move", "lock", "unlock", "repair"],
        risk: "medium",
        why: "changes worktrees",
        ordinary: true,
        options: { flags: "-f --force -n --dry-run -v" },
        operands: { rest: "remove" },
        match: ["git worktree remove out/topic", "git worktree prune"],
        notMatch: ["git worktree remove --x a"],
      },
    ],
    match: ["git worktree"],
    notMatch: ["git worktree --x"],
  },
];

function listing({ options, operands }: Use, lists: readonly string[], otherwise: string): readonly Finding[] {
  const isList = operands.length === 0 || options.some(({ name }) => lists.includes(name));
  return isList ? [] : [{ kind: "risk", risk: "medium", why: otherwise, ordinary: true }];
}

function configuration({ options, operands }: Use): readonly Finding[] {
  const given = options.map(({ name }) => name);
  if (given.some((name) => ["-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch"].includes(name)))
    return [];
  const key = operands[0]?.value;
  if (["list", "get"].includes(key ?? "")) return [];
  if (operands.length <= 1 && key !== undefined && key.includes(".")) return [];
  if (operands.some(({ value }) => value === undefined || runsProgram(value)))
    return [{ kind: "risk", risk: "high", why: "the setting makes git run a program later" }];
  return [{ kind: "risk", risk: "medium", why: "changes git's settings" }];
}

function changes(...names: readonly string[]): NonNullable<OptionTable["raise"]> {
  const [each = "", ...pairs] = names;
  const raised: { [names: string]: Raise } = {};
  for (const name of [...each.split(" "), ...pairs]) raised[name] = ["medium", "changes the repository", "ordinary"];
  return raised;
}
