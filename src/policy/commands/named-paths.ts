import { sensitive } from "../sensitive.ts";
import type { FoundScript } from "./found.ts";
import { type FoundWord, subcommandOf } from "./found-words.ts";
import { type FoundCommand, nameOf } from "./search.ts";
import { SHELLS } from "./wrappers.ts";

/** A word that may name a file. */
export interface NamedPath {
  /** As the command gets it; of a word that is not known as a whole, what it begins with. */
  readonly path: string;
  /** True when `path` is only the beginning of a name: `.en` of `.en*`. */
  readonly begins: boolean;
  readonly use: "read" | "write";
  readonly text: string;
  /** The folder that it is relative to, as `FoundCommand.folder`. */
  readonly folder: string | undefined;
  readonly command: FoundCommand | undefined;
}

/**
 * Every word of a script that may name a file, leniently: operands, values behind `=`, `@file`, targets of
 * redirections. Not: text of programs (`sed`, `awk`), printed words, URLs. Ends after `most` different ones.
 */
export function namedPaths({ commands, redirections }: FoundScript, most = Infinity): readonly NamedPath[] {
  const unique = new Map<string, NamedPath>();
  const add = (path: Path, folder: string | undefined, command: FoundCommand | undefined): void => {
    const key = `${path.use} ${String(path.begins)} ${folder ?? "\n"}\0${path.path}`;
    if (!unique.has(key)) unique.set(key, { ...path, folder, command });
  };
  for (const { target, use, folder, text } of redirections) {
    for (const path of pathsIn(target, use, true)) add({ ...path, text }, folder, undefined);
    if (unique.size >= most) break;
  }
  for (const command of commands) {
    for (const path of pathsOf(command)) {
      if (unique.size >= most) break;
      add(path, command.folder, command);
    }
  }
  return [...unique.values()];
}

type Path = Pick<NamedPath, "path" | "begins" | "use" | "text">;

/** Programs whose words are text, whatever they look like. */
const ONLY_TEXT = new Set(
  (
    "eval echo printf seq expr true false : sleep kill pkill basename dirname tr export declare typeset local readonly unset " +
    "read trap alias type which set shopt let"
  ).split(" "),
);

/** Programs whose operands are no files, or files of another machine. Options may name files all the same. */
const NO_FILES = new Set("watch parallel tmux date docker podman nerdctl kubectl oc ssh npx env cross-env".split(" "));

/** Programs whose first operand is a program or a pattern, unless an option brings it. */
const TEXT_FIRST = new Set("grep egrep fgrep zgrep rg ag sed gsed awk gawk mawk nawk jq gojq yq perl".split(" "));

const HAS_SUBCOMMANDS = /^(git|npm|pnpm|yarn|bun|cargo|go|pip3?|uv|poetry|bundle|gh)$/;

/** Programs that write all their operands, … */
const WRITERS = new Set(
  "rm rmdir unlink rimraf shred mv touch mkdir mkfifo tee truncate chmod chown chgrp ln patch".split(" "),
);
/** … and those that write the last. */
const LAST_WRITERS = new Set("cp install rsync scp".split(" "));

function* pathsOf(command: FoundCommand): Generator<Path> {
  const { words, own } = command;
  const [first] = words;
  if (first === undefined) return;
  const name = nameOf(command);
  const program = first.prefix.includes("/") && !/^(\/usr(\/local)?)?\/s?bin\/[^/]*$/.test(first.prefix);
  if (program) yield* pathsIn(first, "read");
  if (SHELLS.has(name) && words.some(({ prefix }) => /^-[a-zA-Z]*c/.test(prefix))) return;
  const isText = textWords(name, words);
  const subcommand = HAS_SUBCOMMANDS.test(name) ? subcommandOf(words) : undefined;
  const operands = words.slice(1, own).filter((word) => !word.prefix.startsWith("-") && !isText(word));
  for (const [at, word] of words.slice(1, own).entries()) {
    const before = words[at]?.prefix ?? "";
    if (word === subcommand) continue;
    if (isText(word)) yield* name === "sed" || name === "gsed" ? filesOfSed(word) : [];
    else if (ONLY_TEXT.has(name)) continue;
    else if (NO_FILES.has(name)) {
      yield* mountedBy(name, before, word);
      const parts = [before, word.prefix].some((each) => each.startsWith("-")) ? partsOf(word, before) : [];
      const files = parts.filter(({ prefix }) => sensitive(prefix) !== undefined);
      yield* files.flatMap((part) => pathsIn(part, "read"));
    } else {
      const writes = WRITERS.has(name) || (LAST_WRITERS.has(name) && word === operands.at(-1));
      const isOutput = /^(-o|-O|-out|--output\w*|--out)$/.test(before) || /^(--out\w*|of)=/.test(word.prefix);
      yield* partsOf(word, before).flatMap((part) => pathsIn(part, writes || isOutput ? "write" : "read"));
    }
  }
}

/** Which words are text of a program: the first operand, or the value of `-e`. */
function textWords(name: string, words: readonly FoundWord[]): (word: FoundWord) => boolean {
  const texts = new Set<FoundWord>();
  const isText = TEXT_OPTIONS.find(([names]) => names.test(name))?.[1];
  for (const [at, word] of words.entries()) {
    if (isText?.test(words[at - 1]?.value ?? "")) texts.add(word);
  }
  // jq's `-e` is about its exit status.
  const option = /^(go)?jq$/.test(name)
    ? /^(-\w*f|--from-file)(=|$)/
    : /^(-\w*[ef]|--(expression|regexp|file|from-file|files))(=|$)/;
  const brings = words.some(({ prefix }) => option.test(prefix));
  const first =
    TEXT_FIRST.has(name) && !brings ? words.find(({ prefix }, at) => at > 0 && !prefix.startsWith("-")) : undefined;
  if (first !== undefined) texts.add(first);
  return (word) => texts.has(word);
}

/** Options whose value is text of a program, by programs. Other programs have these letters for switches. */
const TEXT_OPTIONS: readonly (readonly [names: RegExp, options: RegExp])[] = [
  [/^git$/, /^(-[a-z]*m|--message|--author|--format|--grep)$/],
  [/^([efz]?grep|rg|ag|g?sed|[gmn]?awk)$/, /^(-e|--expression|--regexp|--source)$/],
  [/^(node|nodejs|deno|bun|tsx)$/, /^(-e|-p|-pe|--eval|--print)$/],
  [/^(perl|ruby|lua)$/, /^-[a-zA-Z]*[eE]$/],
  [/^python[\d.]*$/, /^-[a-zA-Z]*c$/],
  [/^php$/, /^-[rBRE]$/],
];

/** `w FILE`, `r FILE` in a sed program. */
function filesOfSed({ prefix, text }: FoundWord): readonly Path[] {
  return Array.from(prefix.matchAll(/[wWrR][ \t]+([^\s;}]+)/g), ([, path = ""]): Path => {
    return { path, begins: false, use: "write", text };
  });
}

/** What a container gets of this machine: `-v SOURCE:TARGET`. */
function mountedBy(name: string, before: string, word: FoundWord): readonly Path[] {
  if (!/^(docker|podman|nerdctl)$/.test(name)) return [];
  const mounted = /^(-v|--volume)$/.test(before) ? word.prefix : /^(?:-v|--volume=)(.+)$/.exec(word.prefix)?.[1];
  const source = mounted?.split(":")[0] ?? /(?:source|src)=([^,]*)/.exec(word.prefix)?.[1];
  return source !== undefined && /^[/.~]/.test(source)
    ? [{ path: source, begins: false, use: "write", text: word.text }]
    : [];
}

/** A word, and what is behind its `=`, its `@`, the `:` of a revision of git, or its option letter. */
function partsOf(word: FoundWord, before: string): readonly FoundWord[] {
  const { prefix, text } = word;
  const cut = (from: number): FoundWord => ({ text, value: word.value?.slice(from), prefix: prefix.slice(from) });
  // A separator: `cut -d /`.
  if (prefix === "/" && /^-[dFtsS]$/.test(before)) return [];
  const named = /^(-{1,2}[\w-]+|[a-z]+)=@?/.exec(prefix);
  if (named !== null) return [cut(named[0].length)];
  if (/^[A-Z_]+=/.test(prefix)) return [];
  if (prefix.startsWith("@")) return [cut(1)];
  const hidden = sensitivePart(prefix);
  if (hidden !== undefined) return [cut(hidden)];
  const glued = /^-[A-Za-z](?=[~/]|\.\.?\/)/.exec(prefix);
  if (glued !== null) return /^-[DILlWdFts]/.test(prefix) ? [] : [cut(2)];
  const revision = /^[\w@{}^~./-]+:(?=[^:/])/.exec(prefix);
  if (revision !== null && !/^\w+:\d/.test(prefix)) return [word, cut(revision[0].length)];
  return prefix.startsWith("-") && prefix !== "-" ? [] : [word];
}

/** Where the name of a secret begins behind letters of options: 3 in `-Rf.env`. */
function sensitivePart(word: string): number | undefined {
  const letters = /^-[A-Za-z]{1,8}/.exec(word)?.[0].length ?? 0;
  for (let at = 2; at <= letters; at++) if (sensitive(word.slice(at)) !== undefined) return at;
  return undefined;
}

/** A letter that no path has in practice, a URL, or an address of another machine. */
const NO_PATH = /[\n;|&<>`"'\\*?{}()$]|^\d+[a-z]?$|^\]?$|^[a-z][a-z\d+.-]*:\/\/(?!$)|^[\w.-]+@[\w.-]+:|^-?$/i;

/** The word as a path; of one that is known in part the folder, and the beginning of the name in it. */
function pathsIn({ value, prefix, text }: FoundWord, use: Path["use"], isPath = false): readonly Path[] {
  if (prefix.startsWith("file://")) return pathsIn({ value: value?.slice(7), prefix: prefix.slice(7), text }, use);
  if ((!isPath && NO_PATH.test(prefix)) || prefix === "" || isNothing(prefix)) return [];
  if (value !== undefined) return [{ path: value, begins: false, use, text }];
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  return [
    ...(folder === "" ? [] : [{ path: folder, begins: false, use, text }]),
    ...(folder === prefix ? [] : [{ path: prefix, begins: true, use, text }]),
  ];
}

/** Files that are none: the way to nowhere, and what the shell has open already. */
function isNothing(path: string): boolean {
  return /^\/dev\/(null|zero|full|random|urandom|stdin|stdout|stderr|tty|fd\/\d+)$/.test(path);
}
