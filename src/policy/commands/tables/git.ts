import type { CommandSpec, Use } from "../spec.ts";
import { GIT_HISTORY } from "./git-history.ts";
import { GIT_LISTS } from "./git-lists.ts";
import { GIT_READS } from "./git-reads.ts";
import { GIT_REMOTES } from "./git-remotes.ts";
import { setting } from "./git-settings.ts";
import { GIT_WRITES } from "./git-writes.ts";

/** git: its reads are low only in an environment in which hooks, fsmonitor, external diffs and pagers are off. */
export const GIT: readonly CommandSpec[] = [
  {
    names: ["git"],
    risk: "low",
    options: {
      flags:
        "-P --no-pager --no-optional-locks --literal-pathspecs --icase-pathspecs --no-replace-objects -v --version",
      values: { "-C": "directory", "-c": "text" },
    },
    subcommands: [...GIT_READS, ...GIT_LISTS, ...GIT_WRITES, ...GIT_HISTORY, ...GIT_REMOTES],
    refine: ({ options }: Use) =>
      options.filter(({ name }) => name === "-c").flatMap(({ value }) => setting(value?.value)),
    match: ["git --version", "git --no-pager log", "git -c color.ui=never status", "git -C src status"],
    notMatch: [
      "git -c core.pager='sh -c id' log",
      "git -c alias.x='!id' x",
      "git --exec-path=./bin status",
      "git --git-dir=/tmp/evil/.git status",
      "git -p log",
      'git -c "$x" status',
    ],
  },
  {
    names: ["gh", "glab"],
    risk: "medium",
    why: "acts with your account on the hosting service",
    syntax: "words",
    operands: { rest: "text" },
    match: ["gh pr list", "gh pr create --title x --body y"],
    notMatch: ["gh pr view $(id)"],
  },
];
