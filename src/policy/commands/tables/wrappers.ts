import type { CommandSpec, Finding, Use } from "../spec.ts";
import { judgeVariable } from "../variables.ts";
import type { Word } from "../tree.ts";
import { literalWord } from "../words.ts";

/** Commands that run another one, which is judged like any other. */
export const WRAPPERS: readonly CommandSpec[] = [
  {
    names: ["env"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: {
      flags: "-i --ignore-environment -0 --null -v --debug",
      values: { "-u --unset": "text", "-C --chdir": "directory", "-S --split-string": "text" },
      raise: {
        "-S --split-string": ["medium", "takes a text apart"],
        "-u --unset": ["medium", "takes a variable away"],
      },
      ends: "-S --split-string",
    },
    operands: { rest: "text" },
    refine: environment,
    match: ["env NODE_ENV=test ls", "env ls", "env -C src ls", "env - CI=1 ls"],
    notMatch: [
      "env",
      "env LD_PRELOAD=x ls",
      "env -S 'ls -l'",
      "env -S ls -l",
      "env --unknown ls",
      "env rm -rf x",
      "env = ls",
      "env a.b=c ls",
      "env ./x=y ls",
    ],
  },
  {
    // An npm package. Whatever has a name and a `=` in it is an assignment there.
    names: ["cross-env"],
    risk: "medium",
    why: "runs a command with variables",
    ordinary: true,
    syntax: "words",
    operands: { rest: "text" },
    refine: ({ operands }) => environment({ options: [], operands }),
    match: ["cross-env NODE_ENV=test vitest run"],
    notMatch: ["cross-env LD_PRELOAD=x vitest", "cross-env CI=1 sudo ls"],
  },
  {
    names: ["nice"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { flags: "-NUM", values: { "-n --adjustment": "text" } },
    operands: { rest: "command" },
    match: ["nice ls", "nice -n 10 ls", "nice -5 ls"],
    notMatch: ["nice --foo ls", "nice sudo ls"],
  },
  {
    names: ["ionice"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { flags: "-t --ignore", values: { "-c --class": "text", "-n --classdata": "text" } },
    operands: { rest: "command" },
    match: ["ionice -c3 ls"],
    notMatch: ["ionice -p 1", "ionice sudo ls"],
  },
  {
    names: ["timeout"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: {
      flags: "--foreground --preserve-status -v --verbose",
      values: { "-k --kill-after": "text", "-s --signal": "text" },
    },
    operands: { first: ["text"], rest: "command" },
    match: ["timeout 5 ls", "timeout -k 1 -s KILL 10s ls -l"],
    notMatch: ["timeout --foo 5 ls", "timeout 5 sudo ls", "timeout $x ls"],
  },
  {
    names: ["time"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { flags: "-p -v --verbose --portability", values: { "-f --format": "text" } },
    operands: { rest: "command" },
    match: ["command time -p ls"],
    notMatch: ["command time -o out.txt ls", "command time sudo ls"],
  },
  {
    names: ["nohup", "setsid"],
    risk: "medium",
    why: "it leaves a process behind that nobody stops",
    syntax: "posix",
    options: { flags: "-f --fork -w --wait -c --ctty" },
    operands: { rest: "command" },
    match: ["nohup ls", "setsid -w ls"],
    notMatch: ["nohup sudo ls", "setsid --foo ls"],
  },
  {
    names: ["stdbuf"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { values: { "-i --input": "text", "-o --output": "text", "-e --error": "text" } },
    operands: { rest: "command" },
    match: ["stdbuf -oL ls", "stdbuf --output=0 ls"],
    notMatch: ["stdbuf -x ls", "stdbuf -oL sudo ls"],
  },
  {
    names: ["chrt", "taskset"],
    risk: "low",
    ordinary: true,
    syntax: "posix",
    options: { flags: "-b --batch -f --fifo -i --idle -o --other -r --rr -c --cpu-list" },
    operands: { first: ["text"], rest: "command" },
    match: ["chrt -b 0 ls", "taskset -c 0 ls"],
    notMatch: ["chrt -p 1", "taskset 0x1 sudo ls"],
  },
  {
    names: ["xargs"],
    risk: "low",
    syntax: "posix",
    options: {
      flags: "-0 --null -r --no-run-if-empty -t --verbose -x --exit",
      values: {
        "-n --max-args": "text",
        "-P --max-procs": "text",
        "-L --max-lines": "text",
        "-s --max-chars": "text",
        "-d --delimiter": "text",
        "-I": "text",
        "-a --arg-file": "read",
        "-E": "text",
      },
      optional: { "-i --replace": "text" },
    },
    operands: { rest: "text" },
    refine: withLines,
    match: ["xargs", "xargs -n1 echo", "xargs -0 printf '%s\\n'"],
    notMatch: ["xargs wc -l", "xargs rm", "xargs -p echo", "xargs -I X sh -c X", "xargs sudo"],
  },
  {
    names: ["parallel"],
    risk: "medium",
    why: "it runs commands made of lines of text",
    syntax: "posix",
    options: { flags: "-k --keep-order --will-cite -0 --null", values: { "-j --jobs": "text" } },
    operands: { rest: "text" },
    refine: (use) => [...withLines(use), { kind: "unclear", why: "its words are put together to a script" }],
    match: [],
    notMatch: ["parallel gzip ::: a b", "parallel -j2 sudo"],
  },
  {
    names: ["watch"],
    risk: "low",
    syntax: "posix",
    options: {
      flags: "-d --differences -t --no-title -e --errexit -g --chgexit -x --exec -b --beep -c --color",
      values: { "-n --interval": "text" },
    },
    operands: { rest: "text" },
    refine: ({ operands }) =>
      operands.every(({ value }) => value !== undefined)
        ? [{ kind: "script", word: literalWord(operands.map(({ value }) => value).join(" ")) }]
        : [{ kind: "unclear", why: "the script that it runs is known only when it runs" }],
    match: ["watch -n 5 ls -l", "watch 'ls | head'"],
    notMatch: ["watch sudo ls", "watch $x", "watch --foo ls"],
  },
  {
    names: ["script"],
    risk: "medium",
    why: "it records a terminal in a file",
    options: {
      flags: "-q --quiet -e --return -f --flush -a --append",
      values: { "-c --command": "script", "-t --timing": "write", "-O --log-out": "write" },
    },
    operands: { first: ["write"] },
    match: ["script -q -c 'ls' out.txt", "script -qec ls /dev/null"],
    notMatch: ["script -c 'sudo ls' out.txt", "script --foo"],
  },
  {
    names: ["flock"],
    risk: "medium",
    why: "it makes a lock file",
    ordinary: true,
    syntax: "posix",
    options: {
      flags: "-n --nonblock -x --exclusive -s --shared -u --unlock",
      values: { "-w --timeout": "text", "-E --conflict-exit-code": "text" },
    },
    operands: { first: ["write"], rest: "command" },
    match: ["flock -n lock ls"],
    notMatch: ["flock /etc/lock ls", "flock lock sudo ls"],
  },
  {
    names: ["strace", "ltrace", "perf", "gdb", "lldb", "valgrind"],
    risk: "medium",
    why: "it runs a program and looks into it",
    syntax: "posix",
    options: {
      flags: "-f -ff -c -C -t -tt -T -q -v -y",
      values: { "-e": "text", "-o": "write", "-s": "text", "-P": "text", "-p": "none" },
    },
    operands: { rest: "command" },
    match: ["strace -f -o trace.txt ls"],
    notMatch: ["strace -p 1", "strace sudo ls"],
  },
  {
    names: ["busybox", "toybox"],
    risk: "medium",
    why: "it is many programs in one",
    syntax: "posix",
    operands: { rest: "command" },
    match: ["busybox ls"],
    notMatch: ["busybox wget https://x.example/p", "busybox --install"],
  },
];

/**
 * Assignments and a command; without a command the environment is shown, with what is secret in it. Any word with a `=` in it is an
 * assignment, whatever stands before it, nothing too: GNU env and busybox's look for the letter alone (`env = make` runs make).
 */
function environment({ options, operands: given }: Pick<Use, "options" | "operands">): readonly Finding[] {
  const split = options.find(({ name }) => name === "-S");
  if (split !== undefined) return splitText(split.value, given);
  // A lone dash is `-i`.
  const operands = given[0]?.value === "-" ? given.slice(1) : given;
  const from = operands.findIndex(({ prefix }) => !prefix.includes("="));
  const assignments = from === -1 ? operands : operands.slice(0, from);
  const findings = assignments.flatMap(({ prefix }): readonly Finding[] => {
    const judged = judgeVariable(prefix.slice(0, prefix.indexOf("=")), true);
    return judged === undefined ? [] : [{ kind: "unclear", ...judged }];
  });
  if (from !== -1) return [...findings, { kind: "command", words: operands.slice(from) }];
  return [...findings, { kind: "risk", risk: "medium", why: "it shows the environment, with what is secret in it" }];
}

/** `-S TEXT WORD…` is `env` with the words of the text before the others. Its quotes and variables are env's own: never understood. */
function splitText(text: Word | undefined, operands: readonly Word[]): readonly Finding[] {
  const unclear: Finding = { kind: "unclear", why: "env -S takes its text apart in a way of its own" };
  if (text?.value === undefined) return [unclear, { kind: "command", words: operands }];
  const words = text.value.split(/\s+/).filter((word) => word !== "");
  return [
    unclear,
    { kind: "command", words: [literalWord("env"), ...words.map(literalWord), ...operands] },
    ...(/["'\\$]/.test(text.value) ? [{ kind: "script", word: text } as const] : []),
  ];
}

/** xargs: the lines that it reads become arguments, of `echo` when no command is named. */
function withLines({ operands }: Use): readonly Finding[] {
  return [{ kind: "command", words: operands.length === 0 ? [literalWord("echo")] : operands, added: "unknown" }];
}
