import type { SandboxAccess } from "../../core/contract/containment.ts";
import type { FoundProgram } from "../plain/finder.ts";
import { readByList } from "../plain/programs.ts";
import { gitWords } from "./found-words.ts";
import { isLocal } from "./git-writes.ts";
import type { FoundCommand } from "./search.ts";

/** What the sandbox opens for one command, or for redirections (`undefined`). Paths are real. */
export interface Need {
  readonly command: FoundCommand | undefined;
  readonly use: "read" | "write";
  readonly path: string;
  /** What the file is, for people. `undefined`: it is usable unopened, except by commands with hosts. */
  readonly holds: string | undefined;
  /** Whether the command certainly uses the file: then the word is not just text. */
  readonly isSure: boolean;
  /** Whether the command does its main work without the file. Default: false. */
  readonly isAside?: boolean;
  /** Whether a command of git needs it in a repository that starts nothing, for what leads to no program. */
  readonly isInert?: boolean;
}

/** Commands built into the shell, which no file replaces. */
const OF_SHELL: ReadonlySet<string> = new Set(["cd", "echo", "printf", "pwd", "true", "false", ":", "test", "["]);
/** Programs that only create or remove the files that they name. */
const HARMLESS: ReadonlySet<string> = new Set(["mkdir", "touch", "rmdir"]);
/** Subcommands of git that run nothing of the workspace. */
const OF_GIT = /^(init|remote|branch|config)$/;

/** What may be opened: all, or only what commands cannot do without, or nothing. */
export async function openable(
  commands: readonly FoundCommand[],
  needs: readonly Need[],
  find: (name: string) => Promise<FoundProgram | string>,
): Promise<readonly Need[] | undefined> {
  if (await mayOpen(commands, needs, find)) return needs;
  const rest = needs.filter(({ isAside }) => isAside !== true);
  return (await mayOpen(commands, rest, find)) ? rest : undefined;
}

/**
 * What is opened for a command is opened for its whole script. So it is opened only if the command is the whole script,
 * or all other commands in it are harmless: listed programs, which only look, and a few that cannot use what is opened.
 */
async function mayOpen(
  commands: readonly FoundCommand[],
  needs: readonly Need[],
  find: (name: string) => Promise<FoundProgram | string>,
): Promise<boolean> {
  if (needs.length === 0 || (commands.length <= 1 && !commands.some(takesSettings))) return true;
  const owners = new Set(needs.map(({ command }) => command));
  const isInert = needs.every((need) => need.isInert === true);
  const plain = await Promise.all(
    commands.map(async (command) => {
      return (await isPlain(command, find)) || (isInert && isLocal(command) && isKnown(command, find));
    }),
  );
  const others = commands.filter((_, at) => plain[at] !== true);
  const [only] = others;
  return only === undefined || (others.length === 1 && owners.has(only) && owners.size === 1 && !takesSettings(only));
}

/** git with settings on its command line: they can name programs, which would run with what is opened. */
function takesSettings({ words, assigns }: FoundCommand): boolean {
  if (gitWords(words).length === 0) return false;
  const own = words.slice(
    1,
    words.findIndex(({ prefix }) => prefix === gitWords(words)[0]),
  );
  return (
    assigns.length > 0 ||
    own.some(({ prefix }) => /^(-c|--config-env|--exec-path|--git-dir|--work-tree|--namespace)/.test(prefix))
  );
}

/** Whether all words are known, and the program is a system's: not set by variables or settings. */
async function isKnown(command: FoundCommand, find: (name: string) => Promise<FoundProgram | string>) {
  const { words, assigns } = command;
  const [name] = words;
  if (assigns.length > 0 || name?.value === undefined || words.some(({ value }) => value === undefined)) return false;
  return !takesSettings(command) && (OF_SHELL.has(name.value) || typeof (await find(name.value)) !== "string");
}

async function isPlain(command: FoundCommand, find: (name: string) => Promise<FoundProgram | string>) {
  const [name = "", ...others] = command.words.flatMap(({ value }) => value ?? []);
  const isHarmless =
    OF_SHELL.has(name) ||
    HARMLESS.has(name) ||
    (name === "git" && OF_GIT.test(gitWords(command.words)[0] ?? "")) ||
    typeof readByList([{ value: name }, ...others.map((value) => ({ value }))]) !== "string";
  return isHarmless && isKnown(command, find);
}

/** The sandbox access that opens the needed files. */
export function accessFor(needs: readonly Need[]): Required<Pick<SandboxAccess, "read" | "write">> {
  const paths = (use: Need["use"]) => [...new Set(needs.filter((need) => need.use === use).map(({ path }) => path))];
  return { read: paths("read"), write: paths("write") };
}
