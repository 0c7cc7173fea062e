import { findCommands } from "./find-commands.ts";
import { startsProgram } from "../../machine/git/settings.ts";
import { fullSubcommand } from "./program-subcommands.ts";
import { type FoundWord, gitWords, optionValues, subcommandOf } from "./found-words.ts";
import {
  AS_ANOTHER,
  type CommandRisk,
  EDITORS,
  HIGH_WORDS,
  INSTALLS,
  REMOTE,
  SENDS,
  SHELLS,
  entryOf,
  highProgram,
  isListedProgram,
} from "./programs.ts";
import { type FoundCommand, nameOf } from "./search.ts";
import { editor, isWrapper } from "./wrapped.ts";

const DOWNLOADED = "it runs what was downloaded";
const WHATEVER = "it runs whatever it reads; write the script itself, or in a file of the workspace";

/** The risk of one command, and the reason, by program and subcommand. Options only decide whether the risk is high. */
export function riskOf(command: FoundCommand): CommandRisk {
  const { words } = command;
  const high = highRisk(command);
  if (high !== undefined) return { risk: "high", why: high };
  const [first] = words;
  if (first === undefined) return { risk: "low", why: "sets variables" };
  const medium = (why: string): CommandRisk => ({ risk: "medium", why });
  if (first.value === undefined) return medium(`the command that ${first.text} names is known only when it runs`);
  const name = nameOf(command);
  const isOfProject = first.value.includes("/") && !SYSTEM_FOLDER.test(first.value);
  if (isOfProject && !INSTALLED.test(first.value)) return medium("runs a program of the project");
  const subcommand = fullSubcommand(name, subcommandOf(words)?.value ?? "");
  const entry = entryOf(`${name} ${subcommand}`) ?? entryOf(name);
  if (entry !== undefined) return isOfProject ? medium(entry.why) : entry;
  if (isOfProject) return medium("runs a tool of the project");
  if (isWrapper(name)) return { risk: "low", why: "runs another command" };
  return medium(
    highProgram(name) === undefined ? `the command ${name || first.text} is not known` : "shows its version or help",
  );
}

const SYSTEM_FOLDER = /^(\/usr(\/local)?)?\/s?bin\/[^/]+$/;
const INSTALLED = /(^|\/)(node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/[^/]+$/;

/** Whether something is known here about the program, by its name without folders. */
export function isKnownProgram(name: string): boolean {
  return isListedProgram(name) || isWrapper(name) || highProgram(name) !== undefined;
}

/** Whether the program is unknown, or is known to run its words. The search for commands looks behind wrappers. */
export function mayRunWords(name: string): boolean {
  return name !== "" && (/^(tmux|screen|expect)$/.test(name) || (!isListedProgram(name) && !isWrapper(name)));
}

/** Why a command is of high risk wherever it runs; `undefined`: it is not. */
export function highRisk(command: FoundCommand): string | undefined {
  const { words, hidden } = command;
  const name = nameOf(command);
  const always = highProgram(name);
  if (always !== undefined)
    return words.length === 2 && /^--(version|help)$/.test(words[1]?.value ?? "") ? undefined : always;
  if (hidden && isInterpreter(name)) return "an option or a setting starts an interpreter";
  const text = words
    .slice(1)
    .map(({ prefix }) => `\0${prefix}`)
    .join("");
  const row = HIGH_WORDS.find(([names, pattern]) => names.split(" ").includes(name) && pattern.test(`${text}\0`));
  if (row !== undefined) return row[2];
  if (EDITORS.split(" ").includes(name) && editor(words).length > 0) return "it makes an editor run a program";
  if (name === "git") return settingOf(words);
  return sends(name, command) ? SENDS : (download(command, name) ?? runsPrivileged(words, name));
}

/**
 * Whether a script works on another machine (`ssh`, `scp`, `rsync` with a host). The sandbox has neither the keys nor
 * the network for that, so such a script runs outside, once a person has approved it.
 */
export function worksElsewhere(script: string, home: string): boolean {
  if (!/ssh|scp|sftp|rsync|slogin|mosh/.test(script)) return false;
  return findCommands(script, { home }).commands.some((command) => highRisk(command) === REMOTE);
}

/**
 * Whether the kernel keeps a contained command from the harm: `sudo` gets no rights there, installers find the system
 * read-only, and a program that was downloaded is as contained as one of the workspace. The kernel does not prevent
 * removals in the workspace and granted folders, nor sending to granted hosts.
 */
export function isHeldByKernel(why: string | undefined): boolean {
  return why === AS_ANOTHER || why === INSTALLS || why === DOWNLOADED || why === WHATEVER;
}

/** The name of a privileged program, with its words, behind a program that may run its words: `newtool sudo id`. */
function runsPrivileged(words: readonly FoundWord[], name: string): string | undefined {
  const given = mayRunWords(name) ? words.slice(1, -1) : [];
  return given.some((word) => highProgram(nameOf({ words: [word] })) === AS_ANOTHER) ? AS_ANOTHER : undefined;
}

function settingOf(words: readonly FoundWord[]): string | undefined {
  const setting = optionValues(words, "-c --config-env").find(({ prefix }) => {
    const [key = "", value = ""] = prefix.split(/=(.*)/s);
    return startsProgram(key) && !isOff(value);
  });
  return setting && `the setting ${setting.text} makes git run a program`;
}

/** A server on this machine, by a loopback name or address. */
const LOOPBACK =
  String.raw`(?:[a-z]+://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|::1)` +
  String.raw`(?::\d{1,5})?(?:[/?#][^\s\\@]*)?`;

/** A pattern for words of which at least one is a server on this machine, and all others are or are in `options`. */
const toThisMachine = (options: string, behind = `${LOOPBACK}|${options}`): RegExp =>
  new RegExp(String.raw`^(?:\0(?:${options}))*\0${LOOPBACK}(?:\0(?:${behind}))*\0$`);

const HTTPIE = {
  sends: /\0((POST|PUT|PATCH|DELETE)\0|[\w-]+(:?=|@))/,
  isLocal: toThisMachine(
    String.raw`-[aAosp]\0[^\0]*|--(?:auth|auth-type|output|session|print|timeout|verify)\0[^\0]*|` +
      String.raw`--?(?!proxy)\w[\w-]*|[A-Z]+`,
    String.raw`(?!--proxy)[^\0]*`, // curl's fields and headers come behind the server
  ),
};

/** Letters of curl's options without a value, before a letter with a value: `-sSd`. */
const FLAGS = String.raw`-(?:#|[^\WAbcCdDeEFHKmoPQrtTuUwxXyYz])*`;

/** Programs that send requests: the words with which they send data, and the words that keep them to this machine. */
const ASKING = new Map(
  Object.entries({
    curl: {
      sends: new RegExp(
        String.raw`\0(${FLAGS}[dFT]|--(da|for|up|js|url-query|mail|post)|` +
          String.raw`(${FLAGS}X\0?|--req[a-z]*[=\0])(?!(get|head|options|GET|HEAD|OPTIONS)\0))`,
      ),
      isLocal: toThisMachine(
        String.raw`-[sSfLikgvN]*(?:[AbcdeFHmouwX]\0[^\0]*|X[A-Z]+)?|--(?!pro|pre|socks|con|res)[a-z\d.-]+|` +
          String.raw`--(?:data(?:-ascii|-binary|-raw|-urlencode)?|form|json|header|user|user-agent|request|output|` +
          String.raw`cookie|referer|write-out|max-time|retry|connect-timeout)[\0=][^\0]*`,
      ),
    },
    wget: {
      sends: /\0--(post|body|method[=\0]?(?!get|head))/i,
      isLocal: toThisMachine(
        String.raw`-[qnvcSN]*(?:[OoTtU]\0[^\0]*)?|--(?!exec)[a-z-]+(?:=[^\0]*)?|` +
          String.raw`--(?:post-data|body-data|method|header|output-document|timeout|tries)\0[^\0]*`,
      ),
    },
    http: HTTPIE,
    https: HTTPIE,
    xh: HTTPIE,
  }),
);

/** Whether a command sends data to another machine. Data for a server of this machine does not count. */
function sends(name: string, { words, assigns }: FoundCommand): boolean {
  const asking = ASKING.get(name);
  const text = (unknown: string) => words.map(({ value, prefix }) => `\0${value ?? prefix + unknown}`).join("");
  if (asking?.sends.test(`${text("")}\0`) !== true) return false;
  const behind = text("\\").slice(text("\\").indexOf("\0", 1)); // no address has a backslash in it
  return assigns.some(({ name: variable }) => /_proxy$/i.test(variable)) || !asking.isLocal.test(`${behind}\0`);
}

/** Values that switch a helper off, or name one that starts nothing. */
function isOff(value: string): boolean {
  return /^(|true|false|0|1|:|cat|less( -\w+)*|more|\/dev\/null)$/i.test(value);
}

const LOADING = /^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|PS[04])$/;
const HELPER = new RegExp(
  "PAGER$|EDITOR$|^(VISUAL|BROWSER|LESSOPEN|LESSCLOSE|GIT_SSH(_COMMAND)?|GIT_EXTERNAL_DIFF|(GIT|SSH|SUDO)_ASKPASS|" +
    "GIT_PROXY_COMMAND)$",
);
/** Editors, pagers and `ssh` with options that name no program. */
const PLAIN_HELPER = new RegExp(
  String.raw`^(vim?|nvim|nano|emacs|ed|code|less|more|bat|delta|ssh|touch|echo)( (-[\w-]+|-i [\w./~-]+|` +
    String.raw`-o (BatchMode|StrictHostKeyChecking|ConnectTimeout|IdentitiesOnly)=\w+))*$`,
);

/** Why a variable makes programs load or start something else, behind a command that seems harmless. */
export function loads({ name, value, text }: FoundCommand["assigns"][number]): string | undefined {
  if (LOADING.test(name) || name.startsWith("BASH_FUNC_"))
    return value === "" ? undefined : `the variable ${name} makes programs load or run something else`;
  // Settings that git gets from variables: `alias.x`, or `'alias.x=!id' 'a.b'='c'`.
  const isSetting = /^GIT_CONFIG_(KEY_\d+|PARAMETERS)$/.test(name);
  if (isSetting && (value ?? "alias.").split(/[\s']+/).some(startsProgram))
    return `the variable ${name} makes git run a program`;
  if (!HELPER.test(name) || isOff(value ?? "$") || PLAIN_HELPER.test(value ?? "$")) return undefined;
  return `the variable in ${text} names a program that is run`;
}

export const INTERPRETER = /^(python|perl|ruby|node|nodejs|php|lua|deno|bun|Rscript|osascript|pwsh|awk|tclsh)[\d.]*$/;
const DOWNLOADER = /^(curl|wget|aria2c|http|https|xh|fetch|nc|ncat)$/;

function isInterpreter(name: string): boolean {
  return SHELLS.has(name) || INTERPRETER.test(name);
}

/** Programs that are downloaded and run: `curl … | sh`, `sh -c "$(curl …)"`, `… | bash`. */
function download({ words, reads, inWords }: FoundCommand, name: string): string | undefined {
  if (!isInterpreter(name) && !/^(eval|source|\.)$/.test(name)) return undefined;
  if (inWords.some((each) => DOWNLOADER.test(each))) return DOWNLOADED;
  // An interpreter without a program as operand runs what it reads.
  const operands = words.slice(1).filter(({ prefix }) => !/^[-+]./.test(prefix) || /^-\w*[ce]$/.test(prefix));
  const readsProgram = operands.every(({ value }) => /^(-|\/dev\/stdin|\/dev\/fd\/0)$/.test(value ?? ""));
  if (reads.length === 0 || !(readsProgram || words.some(({ value }) => value === "-s"))) return undefined;
  if (SHELLS.has(name)) return WHATEVER;
  return reads.some((each) => DOWNLOADER.test(each)) ? DOWNLOADED : undefined;
}

/** Why a command discards work that cannot be restored, by the command's name; `undefined`: it does not. */
export function throwsAway({ words }: FoundCommand): string | undefined {
  const [subcommand, ...given] = gitWords(words);
  const text = given.map((word) => ` ${word}`).join("");
  return THROWING.find(([names, pattern]) => names === subcommand && pattern.test(text))?.[2];
}

const NO_BRANCH = "it removes commits that no branch holds";

/** Subcommands of git that discard work when words like these follow. */
const THROWING: readonly (readonly [subcommand: string, words: RegExp, why: string])[] = [
  ["clean", /^(?!.* (-\w*n|--dry-run))/s, "it removes files that git does not keep"],
  ["stash", /^ (drop|clear)( |$)/, "it throws stashed changes away"],
  ["reflog", /^ (expire|delete)( |$)/, "it forgets where branches were"],
  ["gc", / --prune(=| |$)/, NO_BRANCH],
  ["prune", /^/, NO_BRANCH],
  ["update-ref", / (-\w*d|--delete|--stdin)/, "it removes a branch"],
  ["branch", / -\w*D|^(?=.* (-\w*d|--delete)).* (-\w*f|--force)/s, "it removes a branch"],
  ["filter-branch", /^/, "it rewrites all history"],
  ["filter-repo", /^/, "it rewrites all history"],
];
