import type { CommandSpec, OptionTable } from "../spec.ts";

const OWN_DATA: OptionTable = {
  flags:
    "-q --quiet --auto --aggressive --prune -n --dry-run --full --refresh --really-refresh --assume-unchanged " +
    "--no-assume-unchanged --chmod=+x --short --cone -w -d -a",
};

/** Subcommands of git that change files, the index or the repository's own data. */
export const GIT_WRITES: readonly CommandSpec[] = [
  {
    names: ["add", "stage"],
    risk: "medium",
    why: "stages changes",
    ordinary: true,
    options: {
      flags:
        "-A --all -u --update -f --force -n --dry-run -v --verbose -N --intent-to-add -p --patch --ignore-errors " +
        "--refresh --renormalize --no-all",
      values: { "--chmod": "text" },
    },
    operands: { rest: "read" },
    match: ["git add -A", "git add src/a.ts", "git add -u ."],
    notMatch: ["git add --pathspec-from-file=x"],
  },
  {
    names: ["clean"],
    risk: "medium",
    why: "removes untracked files",
    ordinary: true,
    options: { flags: "-d -f --force -n --dry-run -q --quiet -x -X", values: { "-e --exclude": "text" } },
    operands: { rest: "write" },
    refine: ({ operands }) => operands.map((word) => ({ kind: "path", use: "remove", word })),
    match: ["git clean -fdx", "git clean -n", "git clean -fd build"],
    notMatch: ["git clean -i"],
  },
  {
    names: ["mv", "rm"],
    risk: "medium",
    why: "moves or removes files",
    ordinary: true,
    options: { flags: "-f --force -k -n --dry-run -v --verbose -r --cached -q --quiet --ignore-unmatch" },
    operands: { rest: "remove" },
    match: ["git mv a.ts b.ts", "git rm -r --cached dist"],
    notMatch: ["git rm --pathspec-from-file=x"],
  },
  {
    names: ["init"],
    risk: "medium",
    why: "makes a repository",
    ordinary: true,
    options: { flags: "-q --quiet --bare", values: { "-b --initial-branch": "text" } },
    operands: { first: ["write"] },
    match: ["git init", "git init -b main app"],
    notMatch: ["git init --template=/tmp/t"],
  },
  {
    names: ["apply", "am"],
    risk: "medium",
    why: "changes the files that a patch names",
    ordinary: true,
    options: {
      flags:
        "--stat --numstat --summary --check --index --cached -3 --3way -R --reverse --reject -v --verbose -q --quiet " +
        "--abort --continue --skip -s --signoff -k --keep --allow-empty --recount",
      values: {
        "-p": "text",
        "-C": "text",
        "--directory": "write",
        "--exclude": "text",
        "--include": "text",
        "--whitespace": "text",
      },
    },
    operands: { rest: "read" },
    match: ["git apply --check fix.patch", "git am --abort"],
    notMatch: ["git apply --unsafe-paths x.patch"],
  },
  {
    names: ["format-patch", "archive", "bundle"],
    risk: "medium",
    why: "writes files",
    ordinary: true,
    options: {
      flags:
        "--stdout -s --signoff -k --keep-subject -n --numbered -N -NUM -v --verbose -l --list --cover-letter --root",
      values: {
        "-o --output-directory --output": "write",
        "--format": "text",
        "--prefix": "text",
        "--subject-prefix": "text",
      },
    },
    operands: { rest: "text" },
    match: ["git format-patch -1 HEAD", "git archive --format=tar -o out.tar HEAD"],
    notMatch: ["git archive --remote=ssh://x --exec=./p HEAD"],
  },
  {
    names: [
      "gc",
      "prune",
      "repack",
      "fsck",
      "pack-refs",
      "update-index",
      "write-tree",
      "hash-object",
      "notes",
      "sparse-checkout",
      "rerere",
    ],
    risk: "medium",
    why: "changes the repository's own data",
    ordinary: true,
    options: OWN_DATA,
    operands: { rest: "text" },
    match: ["git gc --auto", "git fsck --full", "git sparse-checkout set src"],
    notMatch: ["git gc --what"],
  },
  {
    // Beside its own data: settings and hooks (lfs install), the machine's timers (maintenance start), refs without a trace.
    names: ["maintenance", "update-ref", "symbolic-ref", "read-tree", "commit-tree", "lfs", "replace"],
    risk: "medium",
    why: "changes the repository's own data, or its settings",
    options: OWN_DATA,
    operands: { rest: "text" },
    match: ["git lfs install", "git update-ref -d refs/heads/topic"],
    notMatch: ["git maintenance --what"],
  },
  {
    names: [
      "filter-branch",
      "filter-repo",
      "difftool",
      "mergetool",
      "instaweb",
      "daemon",
      "web--browse",
      "credential",
      "gui",
      "citool",
      "send-email",
    ],
    risk: "high",
    why: "starts other programs, hands out credentials or rewrites all history",
    syntax: "words",
    operands: { rest: "text" },
    match: ["git filter-branch --tree-filter 'rm -f x' HEAD", "git difftool -x 'sh -c id'", "git credential fill"],
    notMatch: ["git send-mail"],
  },
];
