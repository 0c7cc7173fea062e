import type { Command } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { folderGone } from "../process/command.ts";
import { quoteWord, quoteWords } from "../../core/util/quote.ts";
import { words as wordsOf } from "../../core/util/text.ts";

/** The variable that contains the mark of a process. Its children inherit it. */
const MARK_VARIABLE = "HANDRAIL_PROCESS";

/** Where a command runs. */
export interface CommandPlace {
  /** A real path. */
  readonly cwd: string;
  /** Added to the environment of the process and its children. */
  readonly mark: string;
  /** Arguments of a shell that the command replaces. */
  readonly before: string;
  /** A redirection of stdin, or "". */
  readonly input: string;
  readonly contained?: ContainedScript | undefined;
}

/** What is added to the script of a contained command, whose program starts another one. */
export interface ContainedScript {
  /** The program that it starts. */
  readonly program: string;
  /** Code that runs in the folder before the command. If it fails, nothing is started (`StaleView`). */
  readonly before: string;
  /** Code that runs after a command that is no job, and reports words with `hr_tell contained`. */
  readonly after: string;
}

/** The files of the target are not those for which a contained command was prepared. Nothing was started. */
export class StaleView extends ToolFailure {}

/**
 * Defines a command for the functions of processes.sh and job.sh: `hr_begin` sets its environment and enters its
 * folder, `hr_run` executes it. So the environment is in the script, which is private, and not on a command line.
 *
 * @throws ToolFailure for a NUL byte, which cannot be passed.
 */
export function commandFunctions(
  { argv, env = {} }: Command,
  { cwd, mark, before, input, contained }: CommandPlace,
): string {
  const [program, ...args] = argv;
  for (const word of [...argv, ...Object.entries(env).flat()]) {
    if (word.includes("\0"))
      throw new ToolFailure(`cannot start ${program}: one of its arguments or variables has a NUL byte`);
  }
  const names = Object.keys(env).filter((name) => name !== "" && !name.includes("="));
  const ours = names.filter(isAssignable);
  const others = names.filter((name) => !isAssignable(name));
  const assignments = [
    ...ours.map((name) => `${name}=${quoteWord(env[name] ?? "")}; export ${name}`),
    `${MARK_VARIABLE}="\${${MARK_VARIABLE}-}"${quoteWord(mark)}; export ${MARK_VARIABLE}`,
  ];
  // After exec, a program that begins with "-" would be an option.
  const first = program.startsWith("-") ? '"$hr_found"' : quoteWord(program);
  const set = others.length === 0 ? [] : ["env", ...others.map((name) => `${name}=${env[name] ?? ""}`)];
  const words = [...set.map(quoteWord), first, ...args.map(quoteWord)].join(" ");
  return `hr_begin() {
${assignments.join("\n")}
hr_ready ${quoteWords([cwd, contained?.program ?? program])}${contained === undefined ? "" : ` || return\n${contained.before} || return 5`}
}
hr_after() {
${contained?.after ?? ":"}
}
hr_run() { exec $hr_session "$hr_sh" -c ${before} ${words} ${input}; }`;
}

/** Creates the error for a failure of `hr_ready`. */
export function unreadyFailure(code: number, program: string, cwd: string): ToolFailure {
  if (code === 5) return new StaleView(`cannot start ${program}: the files changed while it was being prepared`);
  if (code === 1) return folderGone(program, cwd);
  const reasons: { readonly [code: number]: string } = {
    2: `${cwd} may not be entered, or has been replaced by a link`,
    3: program.includes("/") ? "no such file" : "no such program on the PATH",
    4: "it is not executable",
  };
  return new ToolFailure(`cannot start ${program}: ${reasons[code] ?? "the cause is unknown"}`);
}

/** Creates the error for an existing program that did not start. `message`: the system's message. */
export function startFailure(message: string, program: string): ToolFailure {
  const why = /argument list too long/i.test(message)
    ? "its arguments are too long; write them to a file"
    : message.trim() || "the cause is unknown";
  return new ToolFailure(`cannot start ${program}: ${why}`);
}

/** Whether a shell can assign the variable. env(1) sets variables that shells protect or use, and odd names. */
function isAssignable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !SHELLS_OWN.has(name) && !/^(hr_|BASH|ZSH|KSH)/.test(name);
}

const SHELLS_OWN = new Set(
  wordsOf(`
    _ IFS PWD OLDPWD PPID UID EUID GID EGID GROUPS USERNAME OPTIND OPTARG OPTERR LINENO RANDOM SECONDS SHELLOPTS SHLVL
    status path argv HISTFILE
  `),
);
