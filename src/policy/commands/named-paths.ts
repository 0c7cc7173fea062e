import { sensitive } from "../../machine/places/keys.ts";
import type { FoundScript } from "./find-commands.ts";
import { type FoundWord, behindPrefix, subcommandOf } from "./found-words.ts";
import { type FoundCommand, nameOf } from "./search.ts";
import { SHELLS } from "./programs.ts";

export interface NamedPath {
  /** The path as the command gets it. For a word that is known in part: its folder, or the beginning of its name. */
  readonly path: string;
  readonly use: "read" | "write";
  /** The folder to which the path is relative, as `FoundCommand.folder`. */
  readonly folder: string | undefined;
  readonly command: FoundCommand | undefined;
}

/**
 * Every word of a script that may name a file, leniently: operands, values behind `=`, `@file`, targets of
 * redirections. Not included: program text (`sed`, `awk`), printed words, URLs. Ends after `most` different words.
 */
export function namedPaths({ commands, redirections }: FoundScript, most = Infinity): readonly NamedPath[] {
  const unique = new Map<string, NamedPath>();
  const add = (paths: Iterable<Path>, folder: string | undefined, command?: FoundCommand): void => {
    for (const { path, use } of paths) {
      const key = `${use} ${folder ?? "\n"}\0${path}`;
      if (unique.size < most && !unique.has(key)) unique.set(key, { path, use, folder, command });
    }
  };
  for (const { target, use, folder } of redirections) add(pathsIn(target, use, true), folder);
  for (const command of commands) if (unique.size < most) add(pathsOf(command), command.folder, command);
  return [...unique.values()];
}

type Path = Pick<NamedPath, "path" | "use">;

const namesIn = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs whose words are only text, whatever the words look like. */
export const ONLY_TEXT = namesIn(`
  eval echo printf seq expr true false : sleep kill pkill basename dirname tr export declare typeset local readonly
  unset read trap alias type which set shopt let`);
/** Programs whose operands do not name files of this machine. Their options may still name files. */
const NO_FILES = namesIn("watch parallel tmux date docker podman nerdctl kubectl oc ssh npx env cross-env");
/** Programs whose first operand is a program or a pattern, unless an option gives it. */
const TEXT_FIRST = namesIn("grep egrep fgrep zgrep rg ag sed gsed awk gawk mawk nawk jq gojq yq perl");
/** Programs that write all their operands. */
const WRITERS = namesIn("rm rmdir unlink rimraf shred mv touch mkdir mkfifo tee truncate chmod chown chgrp ln patch");
/** Programs that write their last operand. */
const LAST_WRITERS = namesIn("cp install rsync scp");

const HAS_SUBCOMMANDS = /^(git|npm|pnpm|yarn|bun|cargo|go|pip3?|uv|poetry|bundle|gh)$/;

function* pathsOf(command: FoundCommand): Generator<Path> {
  const { words, own } = command;
  const [first] = words;
  if (first === undefined) return;
  const name = nameOf(command);
  const isProgram = first.prefix.includes("/") && !/^(\/usr(\/local)?)?\/s?bin\/[^/]*$/.test(first.prefix);
  if (isProgram) yield* pathsIn(first, "read");
  if (SHELLS.has(name) && words.some(({ prefix }) => /^-[a-zA-Z]*c/.test(prefix))) return;
  const texts = textWords(name, words);
  const subcommand = HAS_SUBCOMMANDS.test(name) ? subcommandOf(words) : undefined;
  const last = words.slice(1, own).findLast((word) => !word.prefix.startsWith("-") && !texts.has(word));
  for (const [at, word] of words.slice(1, own).entries()) {
    const before = words[at]?.prefix ?? "";
    if (word === subcommand) continue;
    if (texts.has(word)) yield* name === "sed" || name === "gsed" ? filesOfSed(word) : [];
    else if (ONLY_TEXT.has(name)) continue;
    else if (NO_FILES.has(name)) {
      yield* mountedBy(name, before, word);
      const isOption = [before, word.prefix].some((each) => each.startsWith("-"));
      const files = isOption ? partsOf(word, before).filter(({ prefix }) => sensitive(prefix) !== undefined) : [];
      yield* files.flatMap((part) => pathsIn(part, "read"));
    } else {
      const isOutput = /^(-o|-O|-out|--output\w*|--out)$/.test(before) || /^(--out\w*|of)=/.test(word.prefix);
      const writes = isOutput || WRITERS.has(name) || (LAST_WRITERS.has(name) && word === last);
      yield* partsOf(word, before).flatMap((part) => pathsIn(part, writes ? "write" : "read"));
    }
  }
}

/** Words that are program text: the first operand, or the value of `-e`. */
function textWords(name: string, words: readonly FoundWord[]): ReadonlySet<FoundWord> {
  const isText = TEXT_OPTIONS.find(([names]) => names.test(name))?.[1];
  const isTextOption = (word: string) => isText?.test(word) === true;
  const texts = new Set(
    words.filter(
      ({ prefix }, at) =>
        isTextOption(words[at - 1]?.value ?? "") || isTextOption(/^--[\w-]+(?==)/.exec(prefix)?.[0] ?? ""),
    ),
  );
  // jq's `-e` only changes its exit status.
  const option = /^(go)?jq$/.test(name)
    ? /^(-\w*f|--from-file)(=|$)/
    : /^(-\w*[ef]|--(expression|regexp|file|from-file|files))(=|$)/;
  if (!TEXT_FIRST.has(name) || words.some(({ prefix }) => option.test(prefix))) return texts;
  const first = words.find(({ prefix }, at) => at > 0 && !prefix.startsWith("-"));
  return first === undefined ? texts : texts.add(first);
}

/** Options whose value is program text, by program. In other programs these letters are switches. */
const TEXT_OPTIONS: readonly (readonly [names: RegExp, options: RegExp])[] = [
  [/^git$/, /^(-[a-z]*m|--message|--author|--format|--grep)$/],
  [/^([efz]?grep|rg|ag|g?sed|[gmn]?awk)$/, /^(-e|--expression|--regexp|--source)$/],
  [/^(node|nodejs|deno|bun|tsx)$/, /^(-e|-p|-pe|--eval|--print)$/],
  [/^(perl|ruby|lua)$/, /^-[a-zA-Z]*[eE]$/],
  [/^python[\d.]*$/, /^-[a-zA-Z]*c$/],
  [/^php$/, /^-[rBRE]$/],
];

/** `w FILE`, `r FILE` in a sed program. */
function filesOfSed({ prefix }: FoundWord): readonly Path[] {
  return Array.from(prefix.matchAll(/[wWrR][ \t]+([^\s;}]+)/g), ([, path = ""]) => ({ path, use: "write" }));
}

/** Files of this machine that a container gets: `-v SOURCE:TARGET`. */
function mountedBy(name: string, before: string, { prefix }: FoundWord): readonly Path[] {
  if (!/^(docker|podman|nerdctl)$/.test(name)) return [];
  const mounted = /^(-v|--volume)$/.test(before) ? prefix : /^(?:-v|--volume=)(.+)$/.exec(prefix)?.[1];
  const path = mounted?.split(":")[0] ?? /(?:source|src)=([^,]*)/.exec(prefix)?.[1];
  return path !== undefined && /^[/.~]/.test(path) ? [{ path, use: "write" }] : [];
}

/** A word, and its parts behind `=`, `@`, the `:` of a git revision, or an option letter. */
function partsOf(word: FoundWord, before: string): readonly FoundWord[] {
  const { prefix } = word;
  // "/" as a separator: `cut -d /`.
  if (prefix === "/" && /^-[dFtsS]$/.test(before)) return [];
  const named = /^(-{1,2}[\w-]+|[a-z]+)=@?/.exec(prefix);
  if (named !== null) return [behindPrefix(word, named[0].length)];
  if (/^[A-Z_]+=/.test(prefix)) return [];
  if (prefix.startsWith("@")) return [behindPrefix(word, 1)];
  // The name of a secret behind option letters: `-Rf.env`.
  const letters = /^-[A-Za-z]{1,8}/.exec(prefix)?.[0].length ?? 0;
  for (let at = 2; at <= letters; at++) if (sensitive(prefix.slice(at)) !== undefined) return [behindPrefix(word, at)];
  if (/^-[A-Za-z](?=[~/]|\.\.?\/)/.test(prefix)) return /^-[DILlWdFts]/.test(prefix) ? [] : [behindPrefix(word, 2)];
  const revision = /^[\w@{}^~./-]+:(?=[^:/])/.exec(prefix);
  if (revision !== null && !/^\w+:\d/.test(prefix)) return [word, behindPrefix(word, revision[0].length)];
  return prefix.startsWith("-") && prefix !== "-" ? [] : [word];
}

/** What no path has in practice: a character that paths do not have, a URL, or an address of another machine. */
const NO_PATH = /[\n;|&<>`"'\\*?{}()$]|^\d+[a-z]?$|^\]?$|^[a-z][a-z\d+.-]*:\/\/(?!$)|^[\w.-]+@[\w.-]+:|^-?$/i;
/** Paths that are not real files: /dev/null and similar, and what the shell already has open. */
const NOTHING = /^$|^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/;

/** The word as a path. For a word that is known in part: the folder, and the beginning of the name in it. */
function pathsIn(word: FoundWord, use: Path["use"], isPath = false): readonly Path[] {
  const { value, prefix } = word;
  if (prefix.startsWith("file://")) return pathsIn(behindPrefix(word, 7), use);
  if ((!isPath && NO_PATH.test(prefix)) || NOTHING.test(prefix)) return [];
  if (value !== undefined) return [{ path: value, use }];
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  return [...new Set([folder, prefix])].filter((path) => path !== "").map((path) => ({ path, use }));
}
