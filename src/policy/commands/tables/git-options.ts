import type { Finding, OptionTable, Use } from "../spec.ts";

// git-log(1) and git-diff(1) without what runs programs (--ext-diff, --textconv, --show-signature, -O<editor>) or
// reads other files (--no-index, -G is text).
export const DIFF_FLAGS =
  "-p -u --patch -s --no-patch --raw --patch-with-raw --minimal --patience --histogram --numstat --shortstat " +
  "--summary --patch-with-stat -z " +
  "--name-only --name-status --no-color --no-renames --check --full-index --binary -a --text -R -b " +
  "--ignore-space-change -w --ignore-all-space " +
  "--ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines -W --function-context --no-ext-diff " +
  "--no-textconv --exit-code --quiet " +
  "--pickaxe-all --pickaxe-regex --no-prefix --default-prefix --no-indent-heuristic --compact-summary --cached " +
  "--staged --merge-base -c --cc --combined-all-paths -m -r -t --root";
export const DIFF_VALUES = {
  "-U --unified": "text",
  "--diff-algorithm": "text",
  "--anchored": "text",
  "--diff-filter": "text",
  "-S": "text",
  "-G": "text",
  "--inter-hunk-context": "text",
  "--src-prefix": "text",
  "--dst-prefix": "text",
  "--line-prefix": "text",
  "-l": "text",
  "-I --ignore-matching-lines": "text",
  "--ws-error-highlight": "text",
  "--output": "write",
} as const;
export const WRITES = { "--output": ["medium", "writes a file", "ordinary"] } as const;
export const DIFF_OPTIONAL = {
  "--color": "text",
  "--stat": "text",
  "--dirstat": "text",
  "--word-diff": "text",
  "--word-diff-regex": "text",
  "--color-words": "text",
  "--color-moved": "text",
  "--abbrev": "text",
  "-M --find-renames": "text",
  "-C --find-copies": "text",
  "-B --break-rewrites": "text",
  "--submodule": "text",
  "--ignore-submodules": "text",
  "--relative": "text",
} as const;
export const LOG: OptionTable = {
  flags:
    DIFF_FLAGS.replace(" -c ", " ") +
    "-c --oneline --graph --all --reverse --no-merges --merges --first-parent --follow --no-decorate --topo-order " +
    "--date-order --author-date-order " +
    "--abbrev-commit --no-abbrev-commit --full-history --simplify-merges --ancestry-path -i --regexp-ignore-case -E " +
    "--extended-regexp -F --fixed-strings " +
    "-P --perl-regexp --invert-grep --all-match --boundary --left-right --cherry --cherry-mark --cherry-pick " +
    "--left-only --right-only --not --no-notes " +
    "--source --parents --children --relative-date --log-size --no-mailmap --use-mailmap --count --dense --sparse " +
    "--no-walk --full-diff --simplify-by-decoration " +
    "-g --walk-reflogs -NUM",
  values: {
    ...DIFF_VALUES,
    "-n --max-count": "text",
    "--skip": "text",
    "--since --after": "text",
    "--until --before": "text",
    "--author": "text",
    "--committer": "text",
    "--grep": "text",
    "--date": "text",
    "--format": "text",
    "-L": "text",
    "--min-parents": "text",
    "--max-parents": "text",
    "--encoding": "text",
    "--exclude": "text",
    "--glob": "text",
    "--decorate-refs": "text",
    "--decorate-refs-exclude": "text",
    "--diff-merges": "text",
  },
  raise: WRITES,
  optional: {
    ...DIFF_OPTIONAL,
    "--pretty": "text",
    "--decorate": "text",
    "--branches": "text",
    "--tags": "text",
    "--remotes": "text",
    "--notes": "text",
  },
};

/** `%G…` in a format lets git run the program that checks signatures, which the repository can name. */
export function signatures({ options }: Use): readonly Finding[] {
  const shown = options.some(
    ({ name, value }) =>
      ["--format", "--pretty"].includes(name) && /%G|signature/.test(value?.value ?? (value === undefined ? "" : "%G")),
  );
  return shown
    ? [{ kind: "unclear", risk: "medium", why: "signatures are checked by a program that the repository can name" }]
    : [];
}

/** Remotes of the form `ext::COMMAND` run the command. */
export function transports({ operands }: Pick<Use, "operands">): readonly Finding[] {
  return operands.some(({ value }) => value !== undefined && /^\w[\w-]*::/.test(value))
    ? [{ kind: "risk", risk: "high", why: "a remote helper of that kind runs a command" }]
    : [];
}
