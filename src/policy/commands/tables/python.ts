import type { CommandSpec, Finding, Use } from "../spec.ts";
import type { Word } from "../tree.ts";
import { literalWord, programFile } from "../words.ts";
import { PYTHON_MODULES, gives, isOneOf, mediumUnlessVersion, namesOf, runsOrdinarily } from "./shared.ts";

/** Python and its tools. Tests, builds and configurations are programs of the workspace. */
export const PYTHON: readonly CommandSpec[] = [
  {
    names: [
      "python",
      "python3",
      "python2",
      "pypy3",
      "python3.10",
      "python3.11",
      "python3.12",
      "python3.13",
      "python3.14",
    ],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: {
      flags: "-V --version -h --help -B -E -I -O -OO -q -s -S -u -VV",
      values: { "-c": "program", "-m": "text", "-W": "text", "-X": "text" },
      ends: "-c -m",
    },
    operands: { rest: "text" },
    refine: python,
    match: ["python3 --version", "python -V"],
    notMatch: [
      "python3 -m pytest -q",
      "python3 script.py",
      "python -c 'print(1)'",
      "python3 -i",
      "python3 --what x.py",
    ],
  },
  {
    names: ["pip", "pip3"],
    risk: "low",
    syntax: "posix",
    options: {
      flags: "-V --version -h --help -q --quiet --disable-pip-version-check",
      values: { "--python": "program" },
    },
    refine: (use) => (use.operands.length === 0 ? mediumUnlessVersion("asks for packages")(use) : []),
    subcommands: [
      {
        names: ["list", "show", "freeze", "check", "inspect", "debug"],
        risk: "low",
        options: {
          flags:
            "-o --outdated -u --uptodate -e --editable -l --local --user --not-required -f --files -v --verbose -q --quiet " +
            "--disable-pip-version-check",
          values: { "--format": "text", "--exclude": "text" },
          raise: { "-o --outdated": ["medium", "asks the package index"] },
        },
        operands: { rest: "text" },
        match: ["pip list", "pip show requests", "pip freeze", "pip list --format=json"],
        notMatch: ["pip list --outdated", "pip list --path /x"],
      },
      {
        names: ["install", "uninstall", "download", "wheel", "lock"],
        risk: "medium",
        why: "installs or removes packages, and runs their build scripts",
        ordinary: true,
        options: {
          flags:
            "-U --upgrade -q --quiet -v --verbose -y --yes --user --no-deps --pre --no-cache-dir --force-reinstall " +
            "--no-build-isolation --break-system-packages --dry-run --no-input --disable-pip-version-check --prefer-binary --no-index",
          values: {
            "-r --requirement": "read",
            "-c --constraint": "read",
            "-e --editable": "read",
            "-t --target": "write",
            "-d --dest": "write",
            "-f --find-links": "text",
            "-i --index-url": "url",
            "--extra-index-url": "url",
            "--upgrade-strategy": "text",
            "--only-binary": "text",
            "--no-binary": "text",
            "-w --wheel-dir": "write",
          },
        },
        operands: { rest: "text" },
        match: ["pip install -r requirements.txt", "pip install -e .", "pip uninstall -y requests"],
        notMatch: ["pip install --config-settings=x y"],
      },
      {
        names: ["cache", "config", "index", "search", "hash", "completion"],
        risk: "medium",
        why: "asks the package index or changes settings",
        syntax: "words",
        operands: { rest: "text" },
        match: ["pip index versions requests", "pip config list"],
        notMatch: ["pip config set $x"],
      },
    ],
    match: ["pip --version"],
    notMatch: ["pip made-up", "pip"],
  },
  {
    names: ["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "pixi", "pyenv", "pipx", "uvx"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    ordinary: true,
    refine: mediumUnlessVersion("installs packages or runs programs of the project", managesOrdinarily),
    match: ["uv --version", "poetry --version"],
    notMatch: ["uv run pytest", "poetry install", "uvx ruff check"],
  },
  {
    names: [
      "pytest",
      "py.test",
      "tox",
      "nox",
      "mypy",
      "pyright",
      "ruff",
      "black",
      "isort",
      "flake8",
      "pylint",
      "pyflakes",
      "autopep8",
      "yapf",
      "bandit",
      "coverage",
      "unittest",
      "virtualenv",
      "sphinx-build",
      "ty",
      "pip-compile",
      "pip-audit",
    ],
    risk: "medium",
    why: "runs a tool with the project's configuration and code",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    match: ["pytest -q tests", "ruff check . --fix", "mypy src", "black --check ."],
    notMatch: ["pytest $x"],
  },
  {
    // They serve, run text, change hooks and databases, or publish.
    names: [
      ...["pre-commit", "twine", "mkdocs", "django-admin", "flask", "uvicorn", "gunicorn", "celery", "alembic"],
      ...["jupyter", "ipython"],
    ],
    risk: "medium",
    why: "runs the project's code, serves, or acts elsewhere",
    syntax: "words",
    operands: { rest: "text" },
    match: ["uvicorn app:app --reload", "pre-commit run -a", "alembic upgrade head"],
    notMatch: ["flask $x"],
  },
];

/** A module (`-m`), a text (`-c`), a file; without any of them it runs what it reads. */
function python(use: Use): readonly Finding[] {
  const { options, operands } = use;
  const module = options.find(({ name }) => name === "-m");
  if (gives(options, "-c")) return [];
  if (module !== undefined) return runsModule(module.value, operands);
  const [file] = operands;
  if (file === undefined) return mediumUnlessVersion("runs a program", () => false)(use);
  return programFile(file, "python");
}

function runsModule(module: Word | undefined, operands: readonly Word[]): readonly Finding[] {
  const name = module?.value;
  if (name === "pip") return [{ kind: "command", words: [literalWord("pip"), ...operands] }];
  const ordinary = name !== undefined && PYTHON_MODULES.has(name) && !RUNNING_MODULES.has(name);
  const isRun = operands[0]?.value === "run";
  const runs = name === "coverage" && (!isRun || runsOrdinarily([literalWord("python"), ...operands.slice(1)]));
  const why = `runs a program: the module ${module?.text ?? ""}`;
  const risk: Finding = { kind: "risk", risk: "medium", why, ordinary: ordinary || runs };
  return module?.value === undefined ? [risk, { kind: "unclear", why: "which module it runs is not known" }] : [risk];
}

const RUNNING_MODULES: ReadonlySet<string> = new Set(["coverage"]);

// Of uv, poetry, pipenv, pdm, hatch, rye, pixi: what works on the project's own environment. The other words publish, log in, or change
// settings and versions of Python.
const MANAGING = isOneOf(
  "sync add remove lock install uninstall update upgrade export tree show list check init new venv build test fmt lint format pip",
);
const RUNNER_FLAGS = namesOf(
  "--frozen --locked --no-sync --offline -q --quiet --all-extras --all-groups --dev --isolated",
);

function managesOrdinarily({ words: [manager], operands }: Use): boolean {
  if (manager?.value === "uvx") return runsOrdinarily(operands);
  if (manager?.value === "conda" || manager?.value === "mamba" || manager?.value === "pyenv") return false;
  if (operands[0]?.value !== "run") return manager?.value !== "pipx" && MANAGING({ operands });
  const from = operands.findIndex(({ value }, index) => index > 0 && !RUNNER_FLAGS.has(value ?? ""));
  return from !== -1 && operands[from]?.value?.startsWith("-") === false && runsOrdinarily(operands.slice(from));
}
