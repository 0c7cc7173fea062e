import type { CommandSpec, Finding, Use } from "../spec.ts";
import { judgeVariable } from "../variables.ts";
import type { Word } from "../tree.ts";
import { activates, isFileName, literalWord } from "../words.ts";

/** The shell's own commands, and shells. */
export const SHELL: readonly CommandSpec[] = [
  {
    names: [
      ":",
      "true",
      "false",
      "exit",
      "return",
      "break",
      "continue",
      "shift",
      "wait",
      "times",
      "jobs",
      "popd",
      "dirs",
      "umask",
      "sleep",
    ],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    anyWords: true,
    match: ["true", "exit 1", "sleep 0.5", ': "$x"'],
    notMatch: ["trap x EXIT"],
  },
  {
    names: ["cd"],
    risk: "low",
    options: { flags: "-L -P -e" },
    operands: { first: ["text"] },
    match: ["cd src", "cd -P src/a"],
    notMatch: ["cd", "cd a b", "cd -", "cd $x", "cd --help"],
  },
  {
    names: ["pushd"],
    risk: "low",
    options: { flags: "-n" },
    operands: { first: ["folder"] },
    match: ["pushd src"],
    notMatch: ["pushd $x", "pushd a b"],
  },
  {
    names: ["set"],
    risk: "low",
    options: { flags: "-e -u -x -v -f -n -h -b -m -C -E -T", values: { "-o": "text" } },
    operands: { rest: "text" },
    match: ["set -e", "set -euo pipefail", "set -- a b", "set +e"],
    notMatch: ["set -k", "set -a"],
  },
  {
    names: ["export", "declare", "typeset", "local", "readonly"],
    risk: "low",
    options: { flags: "-p -r -x -g -a -A -f -F" },
    operands: { rest: "text" },
    refine: ({ operands }) => operands.flatMap((word) => variable(word, true)),
    match: ["export NODE_ENV=test", "local name=value", "declare -r LANG=C", "export CI"],
    notMatch: ["export PATH=.:$PATH", "declare -i x=1", "export FOO=1", "readonly 'a[$(id)]'", "local $x"],
  },
  {
    names: ["unset"],
    risk: "low",
    options: { flags: "-f -v" },
    operands: { rest: "text" },
    refine: ({ operands }) => operands.flatMap((word) => variable(word, false)),
    match: ["unset name", "unset DEBUG"],
    notMatch: ["unset PATH", "unset 'a[$(id)]'", "unset -n x"],
  },
  {
    names: ["read"],
    risk: "low",
    options: {
      flags: "-r -s -e",
      values: { "-p": "text", "-t": "text", "-n": "text", "-N": "text", "-d": "text", "-u": "text" },
    },
    operands: { rest: "text" },
    refine: ({ operands }) => operands.flatMap((word) => variable(word, false)),
    match: ["read -r line", "read -p 'Name: ' first last"],
    notMatch: ["read 'a[$(id)]'", "read PATH", "read -a x", "read $x"],
  },
  {
    names: ["eval"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    refine: ({ operands }) => joined(operands[0]?.value === "--" ? operands.slice(1) : operands),
    match: ["eval 'echo a'", "eval echo a", "eval -- echo a"],
    notMatch: ['eval "$(cat plan.txt)"', "eval $x", "eval -- rm x"],
  },
  {
    names: ["source", "."],
    risk: "medium",
    why: "it runs a file in this shell",
    syntax: "words",
    operands: { first: ["read"], rest: "text" },
    ordinary: true,
    refine: ({ operands }) =>
      activates(operands) ? [] : [{ kind: "unclear", why: "what is in the file is not looked at" }],
    match: [". .venv/bin/activate"],
    notMatch: ["source ./env.sh", "source $x", "source .venv/bin/activate x"],
  },
  {
    names: ["trap"],
    risk: "low",
    ordinary: true,
    options: { flags: "-l -p" },
    operands: { first: ["text"], rest: "text" },
    refine: ({ operands: [script, ...signals] }) =>
      script === undefined || signals.length === 0 || script.value === "-" || script.value === ""
        ? []
        : [{ kind: "script", word: script }],
    match: ["trap - INT", "trap 'echo done' EXIT", "trap"],
    notMatch: ['trap "$x" EXIT'],
  },
  {
    names: ["type", "which", "whereis"],
    risk: "low",
    options: { flags: "-a -t -p -P -f -s" },
    operands: { rest: "text" },
    match: ["which node npm", "type -a ls"],
    notMatch: ["which $x"],
  },
  {
    names: ["command"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { flags: "-v -V -p" },
    operands: { rest: "text" },
    refine: ({ options, operands }) =>
      options.some(({ name }) => name === "-v" || name === "-V") ? [] : [{ kind: "command", words: operands }],
    match: ["command -v node", "command ls"],
    notMatch: ["command -x ls", "command -v $x"],
  },
  {
    names: ["builtin"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    operands: { rest: "command" },
    match: ["builtin echo a", "builtin"],
    notMatch: ["builtin -x"],
  },
  {
    names: ["exec"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { flags: "-c -l", values: { "-a": "text" } },
    operands: { rest: "command" },
    match: ["exec ls", "exec"],
    notMatch: ["exec -z ls"],
  },
  {
    names: ["hash"],
    risk: "low",
    options: { flags: "-r -l -t" },
    operands: { rest: "text" },
    match: ["hash -r"],
    notMatch: ["hash -p /tmp/x git"],
  },
  {
    names: [
      "alias",
      "unalias",
      "enable",
      "let",
      "shopt",
      "mapfile",
      "readarray",
      "getopts",
      "bind",
      "complete",
      "compgen",
      "history",
      "fc",
      "ulimit",
      "fg",
      "bg",
      "disown",
      "suspend",
    ],
    risk: "medium",
    why: "it changes how the shell reads what follows, or evaluates text",
    refine: () => [{ kind: "unclear", why: "it changes the shell, or evaluates text" }],
    match: [],
    notMatch: ["alias ls=rm", "enable -f x.so x", "let 'a[$(id)]'", "shopt -s expand_aliases"],
  },
  {
    names: ["sh", "bash", "dash", "zsh", "ksh", "ash"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: {
      flags: "-c -e -u -x -v -n -f --norc --noprofile --posix --version --help",
      values: { "-o": "text" },
      raise: { "-l -i --login": ["medium", "reads start-up files"] },
    },
    operands: { rest: "text" },
    refine: shell,
    match: ["bash -c 'echo a'", "sh -ec 'ls src'", "bash --version"],
    notMatch: [
      "bash",
      "sh -s",
      "bash ./ok.sh",
      "bash -lic id",
      'bash -c "$x"',
      "bash --rcfile x -c ls",
      "sh -c 'rm -rf x'",
    ],
  },
];

/** A script by `-c`, a file, or what comes in by stdin. */
function shell({ options, operands: [first] }: Use): readonly Finding[] {
  const has = (...names: readonly string[]) => options.some(({ name }) => names.includes(name));
  if (has("--version", "--help")) return [];
  if (has("-c")) return first === undefined ? [] : [{ kind: "script", word: first }];
  if (first === undefined) {
    return [
      {
        kind: "risk",
        risk: "high",
        why: "it runs whatever it reads; write the script itself, or in a file of the workspace",
      },
    ];
  }
  return [
    { kind: "path", use: "read", word: first },
    { kind: "risk", risk: "medium", why: `it runs the script ${first.text}`, ordinary: isFileName(first) },
  ];
}

function joined(words: readonly Word[]): readonly Finding[] {
  const values = words.map(({ value }) => value).filter((value) => value !== undefined);
  if (values.length === words.length) return [{ kind: "script", word: literalWord(values.join(" ")) }];
  return words
    .filter(({ value }) => value === undefined)
    .slice(0, 1)
    .map((word) => ({ kind: "script", word }));
}

/** A name, or `NAME=value`; anything else (a subscript) is evaluated. */
function variable({ value, prefix, text }: Word, exported: boolean): readonly Finding[] {
  const name = /^([A-Za-z_]\w*)(=|$)/.exec(value ?? (prefix.includes("=") ? prefix : ""))?.[1];
  if (name === undefined) return [{ kind: "unclear", why: `${text} is not the plain name of a variable` }];
  const judged = judgeVariable(name, exported && name.toUpperCase() === name);
  return judged === undefined ? [] : [{ kind: "unclear", ...judged }];
}
