import { basename, dirname, isAbsolute } from "node:path";
import { loadsCode } from "../machine/programs/environment.ts";
import { writablePlaceOf } from "../machine/programs/places.ts";
import { words } from "../core/util/text.ts";

/**
 * Programs, and commands of the shell, that run nothing but what their own words say, wherever they start. All others
 * may take code from the folder in which a hook starts: a configuration, a recipe, a plugin, a module.
 */
const HARMLESS: ReadonlySet<string> = new Set(
  words(`
  : true false test [ [[ echo printf exit return set unset shift read cd pwd export local declare readonly wait trap
  cat head tail wc tr cut grep egrep fgrep sort uniq date sleep basename dirname realpath readlink seq tee touch mkdir
  rm cp mv ls stat id whoami hostname uname printenv md5sum sha1sum sha256sum cmp diff jq sed awk curl logger
  notify-send terminal-notifier say afplay paplay aplay
`),
);

/** Options with which a harmless program takes code, or settings of its own, from a file. */
const OF_FILE: { readonly [program: string]: RegExp } = {
  sed: /^(-[nErsz]*f|--file)/,
  awk: /^(-f|-i|-l|--file|--include|--load|-E|--exec)/,
  curl: /^(-[a-zA-Z]*K|--config)/,
};

/** They run the rest of their words as a command, which is found by itself. */
const WRAPPERS = /^(env|timeout|nice|nohup|time|xargs|command|builtin|exec)$/;
const SHELLS = /^(ba|da|z|k)?sh$/;
const INTERPRETERS = /^(node|python[\d.]*|ruby|perl)$/;

/** A command of a hook. */
export interface HookCommand {
  readonly argv: readonly string[];
  /** Variables that are set for it. */
  readonly assigns: readonly string[];
  /** Whether a script among its words was read, so that its commands are found by themselves. */
  readonly isRead: boolean;
}

/**
 * Returns the file with the code that a command runs, as its words name it, if it is proven to take no other code from
 * the workspace, where it starts; "" if it runs no file. `undefined`: it is not proven.
 *
 * @param path the PATH of the person: its folders have installed programs
 */
export function onlyCodeOf(
  { argv: [program = "", ...args], assigns, isRead }: HookCommand,
  path = "",
): string | undefined {
  if (assigns.some(setsCode)) return undefined;
  const name = basename(program);
  const isFile = program.includes("/") && !isProgramFolder(dirname(program), path);
  if (isFile) return plainPath(program);
  if (HARMLESS.has(name))
    return args.some((word) => setsCode(word) || OF_FILE[name]?.test(word) === true) ? undefined : "";
  if (WRAPPERS.test(name)) return isRead && !args.some((word) => setsCode(word) || isForeign(word)) ? "" : undefined;
  if (SHELLS.test(name) && isRead) {
    const last = args.findIndex((word) => /^-[a-z]*c$/.test(word));
    return args.slice(0, last).every((word) => /^--no(profile|rc)$/.test(word)) ? "" : undefined;
  }
  const [script = "-"] = args;
  const takesScript = SHELLS.test(name) || INTERPRETERS.test(name);
  return takesScript && !script.startsWith("-") ? plainPath(script) : undefined;
}

/** A path without characters that spell another one. */
const plainPath = (path: string) => (/[$*?[{`\\\n]|^~[\w.-]/.test(path) ? undefined : path);

/** Folders of installed programs, which are known by their names. */
const isProgramFolder = (folder: string, path: string) =>
  isAbsolute(folder) &&
  writablePlaceOf(folder) === undefined &&
  (/\/s?bin$/.test(folder) || path.split(":").includes(folder));

/** `PATH=…`, `BASH_ENV=…`: what runs is chosen by a variable. */
const setsCode = (word: string) => {
  const [, variable = ""] = /^(\w+)\+?=/.exec(word) ?? [];
  return variable === "PATH" || loadsCode(variable);
};

/** Options of a wrapper that change the folder, the environment or split words: `env -C`, `env -S`. */
const isForeign = (word: string) => /^(-[a-zA-Z]*[CS]|--chdir|--split-string)/.test(word);
