import type { CommandSpec, Finding, Use } from "../spec.ts";
import { judgeVariable } from "../variables.ts";
import { literalWord } from "../words.ts";

/** Commands that run another one, which is judged like any other. */
export const WRAPPERS: readonly CommandSpec[] = [
  {
    names: ["env"],
    risk: "low",
    syntax: "posix",
    options: {
      flags: "-i --ignore-environment -0 --null -v --debug",
      values: { "-u --unset": "text", "-C --chdir": "directory", "-S --split-string": "script" },
      raise: {
        "-S --split-string": ["medium", "takes a text apart"],
        "-u --unset": ["medium", "takes a variable away"],
      },
    },
    operands: { rest: "text" },
    refine: environment,
    match: ["env NODE_ENV=test ls", "env ls", "env -C src ls"],
    notMatch: ["env", "env LD_PRELOAD=x ls", "env -S 'ls -l'", "env --unknown ls", "env rm -rf x"],
  },
  {
    names: ["nice"],
    risk: "low",
    syntax: "posix",
    options: { flags: "-NUM", values: { "-n --adjustment": "text" } },
    operands: { rest: "command" },
    match: ["nice ls", "nice -n 10 ls", "nice -5 ls"],
    notMatch: ["nice --foo ls", "nice sudo ls"],
  },
  {
    names: ["ionice"],
    risk: "low",
    syntax: "posix",
    options: { flags: "-t --ignore", values: { "-c --class": "text", "-n --classdata": "text" } },
    operands: { rest: "command" },
    match: ["ionice -c3 ls"],
    notMatch: ["ionice -p 1", "ionice sudo ls"],
  },
  {
    names: ["timeout"],
    risk: "low",
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
    syntax: "posix",
    options: { values: { "-i --input": "text", "-o --output": "text", "-e --error": "text" } },
    operands: { rest: "command" },
    match: ["stdbuf -oL ls", "stdbuf --output=0 ls"],
    notMatch: ["stdbuf -x ls", "stdbuf -oL sudo ls"],
  },
  {
    names: ["chrt", "taskset"],
    risk: "low",
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

/** `NAME=value …` and a command; without a command the environment is shown, with what is secret in it. */
function environment({ options, operands: given }: Use): readonly Finding[] {
  // A lone dash is `-i`.
  const operands = given[0]?.value === "-" ? given.slice(1) : given;
  const from = operands.findIndex(({ prefix }) => !/^[A-Za-z_]\w*=/.test(prefix));
  const assignments = from === -1 ? operands : operands.slice(0, from);
  const findings = assignments.flatMap(({ prefix }): readonly Finding[] => {
    const judged = judgeVariable(prefix.slice(0, prefix.indexOf("=")), true);
    return judged === undefined ? [] : [{ kind: "unclear", ...judged }];
  });
  if (from !== -1) return [...findings, { kind: "command", words: operands.slice(from) }];
  if (options.some(({ name }) => name === "-S")) return findings;
  return [...findings, { kind: "risk", risk: "medium", why: "it shows the environment, with what is secret in it" }];
}

/** xargs: the lines that it reads become arguments, of `echo` when no command is named. */
function withLines({ operands }: Use): readonly Finding[] {
  return [{ kind: "command", words: operands.length === 0 ? [literalWord("echo")] : operands, added: "unknown" }];
}
