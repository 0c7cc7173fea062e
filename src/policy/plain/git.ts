import { type OptionTable, optionTable, readOptions } from "./options.ts";
import type { GitReading, Reading } from "./reading.ts";
import type { PlainWord } from "./script.ts";

interface Subcommand {
  readonly options: string;
  readonly added?: readonly string[];
  /** Operands are accepted only with one of these options: without them, the command creates something. */
  readonly listsWith?: readonly string[];
  readonly most?: number;
  /** Whether the command shows the content of files: always, or with one of these options. Default: never. */
  readonly shows?: true | readonly string[];
}

const NO_SUBMODULES = "--ignore-submodules=all";
/** Turns off configured drivers and the inspection of nested repositories. */
const LOOKS_INSIDE = ["--no-ext-diff", "--no-textconv", NO_SUBMODULES] as const;

const SHOWS = `
  -p -u -s -w -b -a -z -M -R -W -U# -S: -G: --patch --no-patch --stat --stat= --shortstat --numstat --dirstat
  --summary --name-only --name-status --raw --compact-summary --word-diff --word-diff= --unified=# --minimal
  --patience --histogram --diff-algorithm= --ignore-all-space --ignore-space-change --ignore-space-at-eol
  --ignore-blank-lines --diff-filter= --text --full-index --binary --abbrev --abbrev=# --check --exit-code --quiet
  --color --color= --no-color --find-renames --no-renames --relative --pickaxe-regex --function-context
  --inter-hunk-context=# --no-prefix`;
const CHOOSES = `
  -n# -# -i -E -F -g -m --max-count=# --skip=# --all --branches --tags --remotes --author= --committer= --grep=
  --all-match --invert-grep --since= --after= --until= --before= --merges --no-merges --first-parent --reverse
  --topo-order --date-order --left-right --cherry-pick --cherry-mark --cherry --boundary --simplify-by-decoration
  --full-history --ancestry-path --walk-reflogs --no-walk --not --cc --follow`;
const WRITES_OUT = `
  --oneline --graph --decorate --decorate= --no-decorate --pretty --pretty= --format= --abbrev-commit
  --no-abbrev-commit --date= --relative-date --parents --children`;
const LISTS = "--contains --contains= --no-contains --merged --merged= --no-merged --points-at= --sort= --format= ";
const COLUMNS = "--color --color= --no-color --column --no-column -i --ignore-case ";
const LISTING = ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at="] as const;

/** With one of these options, log shows the content of files. */
const PATCHES = (
  "-p -u -U -a -W -m --patch --unified= --text --binary --word-diff --word-diff= --check --function-context --cc " +
  "--inter-hunk-context="
).split(" ");

const SUBCOMMANDS: { readonly [name: string]: Subcommand } = {
  status: {
    options: `
      -s -b -u -z --short --branch --porcelain --porcelain= --long -uno -unormal -uall --untracked-files
      --untracked-files= --ignored --show-stash --ahead-behind --no-ahead-behind --no-renames`,
    added: [NO_SUBMODULES],
  },
  log: { options: `${SHOWS} ${CHOOSES} ${WRITES_OUT}`, added: LOOKS_INSIDE, shows: PATCHES },
  show: { options: `${SHOWS} ${CHOOSES} ${WRITES_OUT}`, added: LOOKS_INSIDE, shows: true },
  diff: { options: `${SHOWS} --cached --staged --merge-base`, added: LOOKS_INSIDE, shows: true },
  branch: {
    options: `${LISTS} ${COLUMNS} -a -r -v -vv --all --remotes --verbose --list --show-current --abbrev=#`,
    listsWith: LISTING,
  },
  tag: { options: `${LISTS} ${COLUMNS} -l -n --list`, listsWith: [...LISTING, "-l"] },
  "rev-parse": {
    options: `
      -q --quiet --verify --short --short=# --abbrev-ref --abbrev-ref= --symbolic-full-name --show-toplevel
      --show-prefix --show-cdup --is-inside-work-tree --is-bare-repository --all --branches --tags --remotes`,
  },
  "ls-files": {
    options: `
      -c -d -m -o -s -u -t -v -k -z --cached --deleted --modified --others --stage --unmerged --killed
      --exclude-standard --directory --no-empty-directory --error-unmatch --full-name --eol --abbrev --abbrev=#`,
  },
  "ls-tree": { options: "-r -t -d -l -z --long --name-only --name-status --full-name --full-tree --abbrev --abbrev=#" },
  blame: {
    options: `
      -w -M -s -e -l -f -n -t -p --porcelain --line-porcelain --show-email --show-name --show-number --root --since=
      --date= --abbrev=# --first-parent`,
    added: ["--no-textconv"],
  },
  describe: {
    options: "--tags --all --always --long --exact-match --abbrev=# --match= --exclude= --candidates=# --first-parent",
  },
  "merge-base": { options: "-a --all --is-ancestor --octopus --independent --fork-point" },
  shortlog: {
    options: `
      -s -n -e --summary --numbered --email --all --merges --no-merges --since= --after= --until= --before= --author=
      --group=`,
  },
  "cat-file": { options: "-p -t -s -e", most: 2 },
};

const TABLES: ReadonlyMap<string, OptionTable> = new Map(
  Object.entries(SUBCOMMANDS).map(([name, { options }]) => [name, optionTable(options)]),
);

/** Placeholders that make gpg check a signature: `%GG`, `%+G?`, `%(signature)`. */
const SIGNATURE = /%[-+ ]?G|signature/i;

export function readGit(words: readonly [PlainWord, ...PlainWord[]]): Reading | string {
  const at = words[1]?.value === "--no-pager" ? 2 : 1;
  const name = words[at]?.value ?? "";
  const rest = words.slice(at + 1);
  if (words.some(({ wildcards }) => wildcards !== undefined)) return 'git takes no bare "*" or "?": quote it';
  if (rest.some(({ value }) => SIGNATURE.test(value))) return "git would start gpg to check signatures";
  const alone = rest.length === 1 ? `${name} ${rest[0]?.value ?? ""}` : "";
  if (alone === "stash list" || alone === "remote -v") return reading(at, [], {});
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  const table = TABLES.get(name);
  if (subcommand === undefined || table === undefined)
    return `git ${name} is not on the list of commands that only look`;
  const read = readOptions(words, at + 1, table, "alone");
  if (typeof read === "string") return read;
  const { options, operands, late } = read;
  const { added = [], listsWith, most = Infinity } = subcommand;
  if (operands.length > most) return `git ${name} has too many operands`;
  if (operands.length > 0 && listsWith !== undefined && !listsWith.some((option) => options.has(option)))
    return `git ${name} may make a ${name}: use --list`;
  const named = operands.map((index) => words[index]?.value ?? "");
  const unclear = named.find(
    (operand) => operand.startsWith(":") || /\^\{(?!commit\}$)/.test(operand) || /@\{[^]*:/.test(operand),
  );
  if (unclear !== undefined) return `${JSON.stringify(unclear)} may be a file that holds secrets, or more than one`;
  const shows = subcommand.shows === true || subcommand.shows?.some((option) => options.has(option)) === true;
  if (shows && options.has("--follow")) return "git --follow shows what a file with another name held";
  const all = [...operands, ...late].map((index) => words[index]?.value ?? "");
  const glob = shows ? all.find((operand) => /[*?[\\]/.test(operand)) : undefined;
  if (glob !== undefined) return `${JSON.stringify(glob)} may be a pattern: git would expand it itself`;
  // Any name can stand for the content of a file: the name of an object, or of a tag.
  const isName = (operand: string) => !operand.includes(":") && !TYPES.has(operand);
  const isContent = name === "show" ? isName : name === "cat-file" ? isName : OBJECT.test.bind(OBJECT);
  const objects = operands.filter((index) => index < read.end && isContent(words[index]?.value ?? ""));
  if (objects.length > 0 && name === "cat-file" && OBJECT.test(named.at(-1) ?? ""))
    return `${JSON.stringify(named.at(-1))} may be the content of any file: name it as REVISION:PATH`;
  return reading(at, [...operands, ...late], {
    added,
    objects,
    revisionPaths: named.flatMap((operand) => /^[^:]+:(.+)$/s.exec(operand)?.[1] ?? []),
    showsContent: shows,
  });
}

/** Types of objects, the first operand of `git cat-file`. */
const TYPES = new Set(["blob", "tree", "commit", "tag"]);

/** The name of an object: a commit, or the content of a file. */
const OBJECT = /^[0-9a-f]{4,64}$|-g[0-9a-f]{4,64}$/i;

function reading(
  subcommand: number,
  paths: Reading["paths"],
  { added = [], objects = [], revisionPaths = [], showsContent = false }: Partial<GitReading>,
): Reading {
  return { paths, end: 0, git: { subcommand, added, objects, revisionPaths, showsContent } };
}
