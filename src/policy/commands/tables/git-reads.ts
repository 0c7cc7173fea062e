import type { CommandSpec, Finding, Use } from "../spec.ts";
import { DIFF_FLAGS, DIFF_OPTIONAL, DIFF_VALUES, LOG, WRITES, signatures } from "./git-options.ts";
import { revisionPaths } from "./git-settings.ts";

/** Subcommands of git that only look. */
export const GIT_READS: readonly CommandSpec[] = [
  {
    names: ["status"],
    risk: "low",
    options: {
      flags:
        "-s --short -b --branch --show-stash --long -v --verbose -z --ahead-behind --no-ahead-behind --renames " +
        "--no-renames --no-column",
      optional: {
        "--porcelain": "text",
        "-u --untracked-files": "text",
        "--ignored": "text",
        "--ignore-submodules": "text",
        "--column": "text",
        "--find-renames": "text",
      },
    },
    operands: { rest: "read" },
    match: ["git status", "git status -sb", "git status --porcelain=v2 -uno src"],
    notMatch: ["git status --what"],
  },
  {
    names: ["diff"],
    risk: "low",
    options: {
      flags: `${DIFF_FLAGS} -1 --base -2 --ours -3 --theirs -0`,
      values: DIFF_VALUES,
      optional: DIFF_OPTIONAL,
      raise: WRITES,
    },
    operands: { rest: "read" },
    refine: revisionPaths,
    match: [
      "git diff",
      "git diff --stat HEAD~1",
      "git diff main...HEAD -- src/a.ts",
      "git diff --cached --name-only",
      "git diff -U5 -w",
    ],
    notMatch: ["git diff --output=x", "git diff --ext-diff", "git diff --no-index a b", "git diff --textconv"],
  },
  {
    names: ["log", "show", "whatchanged", "rev-list"],
    risk: "low",
    options: LOG,
    operands: { rest: "read" },
    refine: (use) => [...revisionPaths(use), ...signatures(use)],
    match: [
      "git log",
      "git log --oneline -10",
      "git log --format='%h %s' -n 5 main..topic -- src",
      "git show HEAD:package.json",
      "git log -p -S foo",
      "git log --since='2 weeks ago' --author=me",
    ],
    notMatch: ["git log --output=x", "git show --ext-diff", "git log --show-signature", "git log --format=%G?"],
  },
  {
    names: ["reflog"],
    risk: "low",
    options: LOG,
    operands: { rest: "text" },
    refine: (use) => {
      const action = use.operands[0]?.value ?? "show";
      const changing: readonly Finding[] = ["expire", "delete", "drop"].includes(action)
        ? [{ kind: "risk", risk: "medium", why: "forgets history" }]
        : [];
      return [...changing, ...signatures(use)];
    },
    match: ["git reflog", "git reflog show main -n 5"],
    notMatch: ["git reflog expire --all", "git reflog delete HEAD@{0}"],
  },
  {
    names: ["blame", "annotate"],
    risk: "low",
    options: {
      flags:
        "-b --root --show-stats -l -t -s -e --show-email -w -p --porcelain --line-porcelain --incremental -c -f " +
        "--show-name -n --show-number --color-lines --no-progress --first-parent",
      values: {
        "-L": "text",
        "--date": "text",
        "--ignore-rev": "text",
        "--ignore-revs-file": "read",
        "--since": "text",
        "--reverse": "text",
      },
      optional: { "-M": "text", "-C": "text", "--abbrev": "text" },
    },
    operands: { rest: "read" },
    match: ["git blame -L 10,20 src/a.ts", "git blame HEAD~3 -- a.ts"],
    notMatch: ["git blame --contents a b --what"],
  },
  {
    names: ["shortlog"],
    risk: "low",
    options: {
      flags: "-n --numbered -s --summary -e --email --no-merges --all -c --committer",
      values: { "--since": "text", "--until": "text", "--group": "text", "--author": "text" },
    },
    operands: { rest: "read" },
    match: ["git shortlog -sn --all", "git shortlog v1.0..HEAD"],
    notMatch: ["git shortlog --format=%GG"],
  },
  {
    names: [
      "describe",
      "name-rev",
      "merge-base",
      "cherry",
      "count-objects",
      "ls-tree",
      "show-ref",
      "for-each-ref",
      "show-branch",
      "version",
    ],
    risk: "low",
    options: {
      flags:
        "--tags --all --always --long --contains --exact-match --first-parent --name-only --name-only --is-ancestor " +
        "--fork-point --octopus -a -v -vH -H " +
        "--verbose -r -t -d -l --long -z --name-status --full-name --full-tree --object-only --head --heads --branches " +
        "-q --quiet --verify --hash -s --build-options --independent --ignore-case",
      values: {
        "--match": "text",
        "--exclude": "text",
        "--candidates": "text",
        "--sort": "text",
        "--count": "text",
        "--points-at": "text",
        "--refs": "text",
        "--format": "text",
      },
      optional: {
        "--abbrev": "text",
        "--dirty": "text",
        "--broken": "text",
        "--merged": "text",
        "--no-merged": "text",
        "--contains": "text",
        "--hash": "text",
      },
    },
    operands: { rest: "read" },
    refine: signatures,
    match: [
      "git describe --tags --always --dirty",
      "git merge-base main HEAD",
      "git ls-tree -r --name-only HEAD",
      "git for-each-ref --sort=-committerdate --format='%(refname)' refs/heads",
      "git show-ref --heads",
    ],
    notMatch: ["git describe --what", "git show-ref --exclude-existing"],
  },
  {
    names: ["rev-parse"],
    risk: "low",
    options: {
      flags:
        "--show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir --absolute-git-dir " +
        "--git-common-dir --is-inside-work-tree " +
        "--is-inside-git-dir --is-bare-repository --is-shallow-repository --verify -q --quiet --symbolic " +
        "--symbolic-full-name --all --sq --not --local-env-vars",
      values: { "--git-path": "text", "--default": "text" },
      optional: {
        "--short": "text",
        "--abbrev-ref": "text",
        "--branches": "text",
        "--tags": "text",
        "--remotes": "text",
        "--path-format": "text",
        "--show-object-format": "text",
      },
    },
    operands: { rest: "text" },
    match: [
      "git rev-parse HEAD",
      "git rev-parse --abbrev-ref HEAD",
      "git rev-parse --show-toplevel",
      "git rev-parse --short=8 HEAD",
    ],
    notMatch: ["git rev-parse --parseopt", "git rev-parse --sq-quote x"],
  },
  {
    names: ["ls-files"],
    risk: "low",
    options: {
      flags:
        "-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u --unmerged -k --killed -z -t -v " +
        "-f --eol --exclude-standard --directory --no-empty-directory --error-unmatch --full-name --deduplicate " +
        "--recurse-submodules",
      values: { "-x --exclude": "text", "-X --exclude-from": "read", "--format": "text" },
      optional: { "--abbrev": "text" },
    },
    operands: { rest: "read" },
    match: ["git ls-files", "git ls-files -o --exclude-standard src", "git ls-files '*.ts'"],
    notMatch: ["git ls-files --what"],
  },
  {
    names: ["cat-file"],
    risk: "low",
    options: {
      flags: "-p -t -s -e --batch-all-objects",
      values: {},
      optional: { "--batch": "text", "--batch-check": "text" },
    },
    operands: { rest: "text" },
    refine: revisionPaths,
    match: ["git cat-file -p HEAD", "git cat-file -t HEAD:src/a.ts"],
    notMatch: ["git cat-file --textconv HEAD:a", "git cat-file --filters HEAD:a"],
  },
  {
    names: ["grep"],
    risk: "low",
    options: {
      flags:
        "-i --ignore-case -I -w --word-regexp -v --invert-match -h -H -E --extended-regexp -G -P --perl-regexp -F " +
        "--fixed-strings -n --line-number --column -l " +
        "--files-with-matches --name-only -L --files-without-match -c --count -o --only-matching -q --quiet -p " +
        "--show-function -W --function-context --cached " +
        "--untracked --all-match --heading --break -a --text -z --null --full-name --and --or --not --no-color --exclude-standard",
      values: {
        "-e": "text",
        "-A": "text",
        "-B": "text",
        "-C": "text",
        "-m --max-count": "text",
        "--max-depth": "text",
        "--threads": "text",
        "-f": "read",
      },
      optional: { "--color": "text", "-O --open-files-in-pager": "program" },
      raise: { "-O --open-files-in-pager": ["high", "runs a program of its own choosing on what it finds"] },
    },
    operands: { rest: "text" },
    refine: patternThenPaths,
    match: ["git grep -n foo", "git grep -e a --and -e b -- src", "git grep foo HEAD~2"],
    notMatch: ["git grep -O foo", "git grep --open-files-in-pager=sh foo", "git grep --no-index foo /"],
  },
  {
    names: ["check-ignore", "check-attr"],
    risk: "low",
    options: { flags: "-v --verbose -n --non-matching -q --quiet --no-index -a --all --cached" },
    operands: { rest: "text" },
    match: ["git check-ignore -v dist/a.js"],
    notMatch: ["git check-ignore --stdin-x"],
  },
  {
    names: ["diff-tree", "diff-index", "diff-files", "range-diff"],
    risk: "low",
    options: {
      flags: `${DIFF_FLAGS} --no-commit-id --stdin -v`,
      values: DIFF_VALUES,
      optional: DIFF_OPTIONAL,
      raise: WRITES,
    },
    operands: { rest: "read" },
    refine: revisionPaths,
    match: ["git diff-tree --no-commit-id --name-only -r HEAD", "git diff-index --quiet HEAD"],
    notMatch: ["git diff-tree --ext-diff HEAD", "git diff-files --output=x"],
  },
];

function patternThenPaths({ options, operands }: Use): readonly Finding[] {
  const brought = options.some(({ name }) => name === "-e" || name === "-f");
  const paths = operands.slice(brought ? 0 : 1);
  return [
    ...paths.map((word): Finding => ({ kind: "path", use: "folder", word })),
    ...revisionPaths({ operands: paths }),
  ];
}
