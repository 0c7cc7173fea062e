import type { Command } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord, quoteWords } from "../../util/shell.ts";
import { MARK_VARIABLE } from "./processes-script.ts";

/** A command as pieces of a script. */
export interface CommandWords {
  /** Sets its environment, the mark in it. */
  readonly environment: string;
  /** What `hr_ready` wants to know: its folder and its program. */
  readonly ready: string;
  /** Its argv. */
  readonly words: string;
}

/**
 * Quotes all of a command. Its environment is set in the script, which nobody sees, and not on a command line, which everybody does.
 *
 * @throws ToolFailure for a NUL in it: no system has a way to pass one.
 */
export function commandWords({ argv, env = {} }: Command, cwd: string, mark: string): CommandWords {
  const [program, ...args] = argv;
  for (const word of [...argv, ...Object.entries(env).flat()]) {
    if (word.includes("\0"))
      throw new ToolFailure(`cannot start ${program}: an argument or a variable of it has a NUL in it`);
  }
  const names = Object.keys(env).filter((name) => name !== "" && !name.includes("="));
  const ours = names.filter(isAssignable);
  const others = names.filter((name) => !isAssignable(name));
  const assignments = ours.map((name) => `${name}=${quoteWord(env[name] ?? "")}; export ${name}`);
  // As a word after exec a program that begins with "-" would be an option.
  const first = program.startsWith("-") ? '"$hr_found"' : quoteWord(program);
  const before = others.length === 0 ? [] : ["env", ...others.map((name) => `${name}=${env[name] ?? ""}`)];
  return {
    environment: [
      ...assignments,
      `${MARK_VARIABLE}="\${${MARK_VARIABLE}-}"${quoteWord(mark)}; export ${MARK_VARIABLE}`,
    ].join("\n"),
    ready: quoteWords([cwd, program]),
    words: [...before.map(quoteWord), first, ...args.map(quoteWord)].join(" "),
  };
}

/** Why `hr_ready` failed, for people and models. */
export function unreadyFailure(code: number, program: string, cwd: string): ToolFailure {
  const reasons: { readonly [code: number]: string } = {
    1: `there is no folder ${cwd}`,
    2: `${cwd} may not be entered, or leads to another folder now`,
    3: "no such program on the PATH",
    4: "it is not executable",
  };
  return new ToolFailure(`cannot start ${program}: ${reasons[code] ?? "nobody can say why"}`);
}

/** Why a program did not start that was there: what the system said of it. */
export function startFailure(said: string, program: string): ToolFailure {
  const why = /argument list too long/i.test(said)
    ? "its arguments are too long; write them to a file"
    : said.trim() || "nobody can say why";
  return new ToolFailure(`cannot start ${program}: ${why}`);
}

/** Variables that a shell reads or guards itself, and those that its grammar has no way to name, are set by env(1). */
function isAssignable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !SHELLS_OWN.has(name) && !/^(hr_|BASH|ZSH|KSH)/.test(name);
}

const SHELLS_OWN = new Set(
  "_ IFS PWD OLDPWD PPID UID EUID GID EGID GROUPS USERNAME OPTIND OPTARG OPTERR LINENO RANDOM SECONDS SHELLOPTS SHLVL status path argv HISTFILE".split(
    " ",
  ),
);
