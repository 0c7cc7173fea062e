import { posix } from "node:path";
import { absolutePath, isInside } from "../../core/util/paths.ts";
import { type FoundScript, findCommands } from "./find-commands.ts";
import type { FoundWord } from "./found-words.ts";
import { type NamedPath, namedPaths } from "./named-paths.ts";
import { RAW_DEVICE } from "./programs.ts";
import { INTERPRETER, highRisk, loads, mayRunWords } from "./risk.ts";
import { type FoundCommand, nameOf } from "./search.ts";

interface NeverRun {
  readonly text: string;
  readonly why: string;
  /** The command that is never run, if it is a command: a user's rule that names it allows it. */
  readonly command?: FoundCommand;
  /** Whether the command would answer for a person. No rule allows that. */
  readonly answersForPerson?: true;
}

interface NeverRunContext {
  readonly workDir: string;
  readonly home: string;
  /** The folder in which the script starts, absolute. Default: the workspace. */
  readonly cwd?: string | undefined;
  /** Folders in which something may be removed, absolute: the workspace, allowed roots. */
  readonly open: readonly string[];
}

/** Finds the parts of a script that are never run: privilege, destruction, sending data out, answers for a person. */
export function neverRun(found: FoundScript, context: NeverRunContext): readonly NeverRun[] {
  const { commands, redirections } = found;
  const parts = commands.flatMap((command): readonly NeverRun[] => {
    const { text } = command;
    if (answersForPerson(command)) {
      return [
        {
          text,
          command,
          answersForPerson: true,
          why: "it would approve instead of a person; only a person may run it, in a terminal",
        },
      ];
    }
    const variable = command.assigns.map(loads).find((each) => each !== undefined);
    if (variable !== undefined) return [{ text, why: variable }];
    const why = highRisk(command) ?? destroys(command, context) ?? forks(command, commands);
    return why === undefined ? [] : [{ text, why, command }];
  });
  const files = redirections.flatMap(({ target, text, use }): readonly NeverRun[] => {
    const path = posix.normalize(target.prefix);
    if (/^\/dev\/(tcp|udp)\//.test(path)) return [{ text, why: "it reaches the network" }];
    return use === "write" && RAW_DEVICE.test(path) ? [{ text, why: "it writes to a device" }] : [];
  });
  return [...parts, ...files];
}

const REMOVERS = new Set(["rm", "rmdir", "unlink", "rimraf", "trash", "shred", "srm"]);

/** Returns the paths that a script names in commands that remove files. */
export function removedPaths(script: string, { home }: Pick<NeverRunContext, "home">): readonly NamedPath[] {
  const removes = ({ words }: FoundCommand) =>
    words.some(({ value = "" }, at) => (at === 0 && REMOVERS.has(posix.basename(value))) || value === "-delete") ||
    words.some(({ value = "" }, at) => REMOVERS.has(value) && /^-(exec|ok|x|X)/.test(words[at - 1]?.value ?? ""));
  return namedPaths(findCommands(script, { home })).filter(({ command }) => command !== undefined && removes(command));
}

/** Why a removal reaches beyond the open folders. Only known parts of a path count: in `rm /$x`, not in `rm "$x"`. */
function destroys(command: FoundCommand, context: NeverRunContext): string | undefined {
  const { words } = command;
  const name = nameOf(command);
  if (REMOVERS.has(name)) {
    if (words.some(({ value }) => value === "--no-preserve-root")) return "it may remove the whole file system";
    const end = words.findIndex(({ value }) => value === "--");
    const operands = words.filter(({ prefix }, at) => at > 0 && (!prefix.startsWith("-") || (end > 0 && at > end)));
    const path = operands.find((word) => isBeyond(word, command, context, true));
    return path && `it removes ${path.text}, which is not inside the workspace`;
  }
  if (name !== "find" && name !== "fd") return undefined;
  const isExec = (at: number) => /^-(exec|ok|x|X)/.test(words[at]?.value ?? "");
  const removes = ({ value = "" }: FoundWord, at: number) =>
    value === "-delete" || (REMOVERS.has(value) && isExec(at - 1));
  if (!words.some(removes)) return undefined;
  const first = words.findIndex(({ prefix }, at) => at > 0 && /^[-(!]/.test(prefix) && !/^-[HLP]$/.test(prefix));
  const starts = words.slice(1, first === -1 ? undefined : first);
  const start = starts.find((word) => isBeyond(word, command, context, false));
  return start && `it removes what it finds in ${start.text}, which is not inside the workspace`;
}

/**
 * Whether a path is outside all open folders, or has one below it: `..` in a workspace below /tmp, which is open too.
 * With `wholly` also whether it is one, or all of its content (`*`).
 */
function isBeyond(word: FoundWord, { folder }: FoundCommand, context: NeverRunContext, wholly: boolean): boolean {
  const { workDir, home, cwd = workDir, open } = context;
  const all = /^(.*\/)?(\*|\.\*|\.\?\?\*|\{\*,\.\*\}|\.\[!\.\]\*)$/s.exec(word.value === undefined ? word.text : "");
  const isAll = all !== null && word.prefix === (all[1] ?? "") + (all[2]?.startsWith(".") ? "." : "");
  const known = word.value ?? word.prefix.slice(0, word.prefix.lastIndexOf("/") + 1);
  if (known === "" && !isAll) return false;
  if (folder === undefined && !known.startsWith("/")) return false;
  const path = absolutePath(known === "" ? "." : known, {
    workDir: absolutePath(folder ?? "", { workDir: cwd, home }),
    home,
  });
  if (!open.some((each) => isInside(path, each))) return true;
  const isWhole = word.value !== undefined || isAll || !wholly;
  const begin = word.prefix.slice(word.prefix.lastIndexOf("/") + 1); // of a pattern: `../w*` may be the workspace
  const isTaken = (below: string) =>
    isWhole ||
    below
      .split("/")
      .find((part) => part !== "")
      ?.startsWith(begin) === true;
  if (open.some((each) => each !== path && isInside(each, path) && isTaken(each.slice(path.length)))) return true;
  return wholly && open.includes(path) && (word.value !== undefined || isAll);
}

function forks(command: FoundCommand, commands: readonly FoundCommand[]): string | undefined {
  const { inFunction } = command;
  if (inFunction === undefined || nameOf(command) !== inFunction) return undefined;
  const own = commands.filter((each) => each.inFunction === inFunction && nameOf(each) === inFunction);
  return own.length > 1 ? "a function that starts itself twice fills the machine with processes" : undefined;
}

/** `handrail` with a subcommand that answers for a person, or with `--yes`; also as a script of the package. */
function answersForPerson(command: FoundCommand): boolean {
  const { words } = command;
  const name = nameOf(command);
  const runsWords = INTERPRETER.test(name) || mayRunWords(name);
  const at = words.findIndex(({ value, prefix, text }, index) => {
    if (index === 0 && value === undefined && text.includes("handrail")) return true; // `$(command -v handrail)`
    return (index === 0 || runsWords) && OURS.test(prefix);
  });
  if (at === -1) return false;
  const isJudged = (index: number) => /^--(command|path|url)$/.test(words[index - 1]?.prefix ?? "");
  const given = words.filter((_, index) => index > at && (index === at + 1 || !isJudged(index)));
  const isOther = given.some(({ value = "" }) => /^(tools|call|mcp|check|jobs|doctor)$/.test(value));
  return given.some(({ value }) => {
    return value === undefined ? !isOther : /^(approvals|trust|serve|browsers|grants|--yes)$/.test(value);
  });
}

const OURS = /(^|\/)handrail(@[^/]*)?(\.[cm]?js)?$|\/handrail\/(dist|src|bin)\/[^/]+$/;
