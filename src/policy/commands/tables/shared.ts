import type { Finding, Use } from "../spec.ts";
import type { Word } from "../tree.ts";

const ASKS_VERSION = new Set(["-v", "-V", "-version", "--version", "-h", "-help", "--help", "version", "help", "-vV"]);

/**
 * For an entry whose risk is low: it stays so when nothing but the version or the help is asked for, and is medium otherwise. That is
 * ordinary where the entry is marked, and `isOrdinary`, if given, says so of this use.
 */
export function mediumUnlessVersion(
  why: string,
  isOrdinary: (use: Use) => boolean = () => true,
): (use: Use) => readonly Finding[] {
  return (use) => {
    const given = [...use.options.map(({ name }) => name), ...use.operands.map(({ value }) => value ?? "")];
    const onlyAsks = given.length > 0 && given.every((one) => ASKS_VERSION.has(one));
    if (onlyAsks) return [];
    return [{ kind: "risk", risk: "medium", why, ordinary: use.spec.ordinary === true && isOrdinary(use) }];
  };
}

/** Whether one of these options is given. A flag is named as it is typed, an option with a value by the first of its names. */
export function gives(options: Use["options"], ...names: readonly string[]): boolean {
  return options.some(({ name }) => names.includes(name));
}

/** Names in a text, parted by spaces. */
export function namesOf(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** For tools with subcommands that the tables do not read one by one: the first operand is one of these, and nothing is program text. */
export function isOneOf(names: string): (use: Pick<Use, "operands">) => boolean {
  const known = namesOf(names);
  return ({ operands }) => known.has(operands[0]?.value ?? "") && !operands.some(isProgramText);
}

/** `-e CODE`, `--eval=CODE`, `--exec CMD` and their like, whichever tool takes them for that, and stdin; a word that is not known may be one. */
export function isProgramText({ value }: Word): boolean {
  return (
    value === undefined || /^(-|--?(e|eval|exec|execute|c|command|cmd|call|run-code|script-text)(=.*)?)$/s.test(value)
  );
}

// What runs anything at all, or acts beyond the project, whatever stands behind it.
const RUNS_ANYTHING = namesOf(
  "eval exec env xargs find fd parallel watch nohup setsid sudo doas su busybox ssh scp curl wget nc docker podman kubectl gh git awk gawk " +
    "sed cross-env cross-env-shell dotenv concurrently nodemon pm2 rimraf",
);
const INTERPRETERS =
  /^(sh|bash|dash|zsh|ksh|ash|node|nodejs|tsx|ts-node|deno|bun|python[\d.]*|pypy\d?|ipython|perl|ruby|php|lua|julia|Rscript)$/;

/** Modules of Python that build, test, check and install; as programs they do what the tools of their names do. */
export const PYTHON_MODULES = namesOf(
  "pytest unittest doctest venv virtualenv build ensurepip mypy pyright ruff black isort flake8 pylint pyflakes yapf autopep8 bandit tox nox " +
    "coverage compileall py_compile json.tool sphinx mkdocs pre_commit piptools py.test tabnanny",
);

/**
 * Whether the words that a package runner is given (`npx`, `uv run`, `bundle exec`), program first, are ordinary: a tool of a package, or an
 * interpreter with a file. Every word is known, and none of them is something that runs whatever text it is given.
 */
export function runsOrdinarily(words: readonly Word[]): boolean {
  return (
    words.length > 0 &&
    words.every(({ value }, index) => {
      const name = value?.slice(value.lastIndexOf("/") + 1);
      if (name === undefined || RUNS_ANYTHING.has(name)) return false;
      if (!INTERPRETERS.test(name)) return true;
      const next = words[index + 1]?.value;
      if (next === "-m") return PYTHON_MODULES.has(words[index + 2]?.value ?? "");
      return next === undefined ? index > 0 : /^(?![-+]|\/(dev|proc)\/)/.test(next);
    })
  );
}
