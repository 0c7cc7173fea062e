import { posix } from "node:path";
import type { FindNamedFiles, NamePattern, NamedFiles } from "../../core/contract/named-files.ts";
import { absolutePath } from "../../core/util/paths.ts";
import { type FoundScript, findCommands } from "./find-commands.ts";
import type { FoundWord } from "./found-words.ts";
import { loadedBy, loadingOf, ownFiles, runsItsWords, scriptsIn, withParents } from "./loaded-files.ts";
import { ONLY_TEXT, namedPaths } from "./named-paths.ts";
import { EVALUATING, SHELLS } from "./programs.ts";
import { ADDED } from "./wrapped.ts";
import { type FoundCommand, nameOf } from "./search.ts";

/** The most paths that one text names; beyond, the rest counts as unknown. */
const MOST_PATHS = 2_000;

/**
 * Finds the files whose content an approval of a script is about: its programs, its scripts and the files that it
 * names, at any depth, in the folder in which each command runs. Lenient: a word is also read as several paths.
 */
export const namedFilesIn: FindNamedFiles = ({ text, path, cwd, home, repeats }) => {
  const scripts = path === undefined ? [text] : scriptsIn(path, text);
  if (scripts.length === 0) return undefined;
  const folder = path !== undefined && posix.basename(path) === "package.json" ? posix.dirname(path) : cwd;
  const found = scripts.map((script) => filesOf(findCommands(script, { home }), { cwd: folder, home, repeats }));
  const set = new Set(scripts.flatMap(variablesSetIn));
  return {
    paths: [...new Set(found.flatMap(({ paths }) => paths))],
    patterns: found.flatMap(({ patterns }) => patterns),
    unknown: [...new Set(found.flatMap(({ unknown }) => unknown))].map((each) => ({
      text: each,
      isAnywhere: variablesIn(each).some((name) => !set.has(name)),
    })),
  };
};

/** Variables that a script sets itself. Lenient: what looks like it counts, since the workspace is compared then. */
function variablesSetIn(script: string): readonly string[] {
  const set = /(?:\bfor\s+|\bselect\s+|(?<![\w$])(?=[A-Za-z_]\w*\+?=))([A-Za-z_]\w*)/g;
  const read = Array.from(script.matchAll(/\bread\b([^;|&\n]*)/g), ([, names = ""]) => names.split(/\s+/)).flat();
  return [...Array.from(script.matchAll(set), ([, name = ""]) => name), ...read];
}

function variablesIn(word: string): readonly string[] {
  return Array.from(word.matchAll(/\$\{?!?([A-Za-z_]\w*)/g), ([, name = ""]) => name).filter((name) => name !== "PWD");
}

interface Around {
  readonly cwd: string;
  readonly home: string;
  readonly repeats: boolean;
}

function filesOf(
  found: FoundScript,
  { cwd, home, repeats }: Around,
): Omit<NamedFiles, "unknown"> & { readonly unknown: readonly string[] } {
  const paths = new Set<string>();
  const patterns: NamePattern[] = [];
  const unknown = new Set<string>([...found.unclear, ...found.unread]);
  const within = (folder: string, path: string) => absolutePath(path, { workDir: folder, home });
  const folderOf = ({ folder }: Pick<FoundCommand, "folder">) => within(cwd, folder ?? "");
  const add = (folder: string, path: string) => {
    if (path !== "" && path.length < 4_096 && !path.includes("\0")) paths.add(within(folder, path));
  };
  const addUnknown = (word: FoundWord, folder: string) => {
    const pattern = patternIn(word);
    if (pattern === undefined) unknown.add(word.text);
    else patterns.push({ ...pattern, folder: within(folder, pattern.folder) });
  };

  // What a shell reads from another command is code: then every word of the script may decide what runs.
  const feedsShell = found.commands.some((each) => each.reads.length > 0 && isInterpreter(nameOf(each)));
  for (const { target, folder = "", text } of found.redirections) {
    const at = within(cwd, folder);
    if (/^\d*>>/.test(text)) continue; // appending replaces nothing
    if (target.value === undefined) addUnknown(target, at);
    else add(at, target.value);
  }
  for (const command of found.commands) {
    const folder = folderOf(command);
    if (command.folder === undefined) unknown.add(`the folder of ${command.text}`);
    if (command.assigns.some(({ name }) => name === "CDPATH")) unknown.add("CDPATH");
    const tokens = new Set(command.words.flatMap(tokensOf));
    const assigned = new Set(
      command.assigns.flatMap(({ name, value, text }) => splitTokens(value ?? text.slice(name.length + 1))),
    );
    // `env -C sub ./x.sh`, `make -C sub`, `PYTHONPATH=lib python -m x`: a folder in which other words are looked up.
    const folders = [folder, ...[...foldersOf(command), ...assigned].map((each) => within(folder, each))];
    const names = namesOf(command, found);
    const loadings = names.flatMap((name) => loadingOf(name) ?? []);
    for (const at of new Set(folders)) {
      for (const loading of loadings) {
        const own = ownFiles(at, loading);
        own.paths.forEach((path) => paths.add(path));
        patterns.push(...own.patterns);
      }
      for (const token of [...tokens, ...assigned]) {
        add(at, token);
        for (const loading of loadings) for (const path of loadedBy(token, loading)) add(at, path);
      }
    }
    if (names.some((name) => /^(npx|bunx|pnpx|npm|pnpm|yarn|bun)$/.test(name)))
      for (const at of withParents(folder)) for (const token of tokens) add(at, `node_modules/.bin/${token}`);
    if (paths.size > MOST_PATHS) {
      unknown.add("more files than are compared");
      break;
    }
    for (const word of unknownWords(command, feedsShell)) addUnknown(word, folder);
  }
  if (repeats) for (const path of onlyWritten(found, within, cwd)) paths.delete(path);
  return { paths: [...paths].slice(0, MOST_PATHS), patterns, unknown: [...unknown] };
}

/** Names of the command and of the commands in its words: `env -C sub make`, `find -exec python x {} \;`. */
function namesOf(command: FoundCommand, { commands }: FoundScript): readonly string[] {
  const inner = command.words.slice(command.own);
  const names = commands.flatMap((each) =>
    each.words[0] !== undefined && inner.includes(each.words[0]) ? [nameOf(each)] : [],
  );
  return [nameOf(command), ...names].filter((name) => name !== "");
}

/** Programs that only read, move or store the files that they name: which ones decides nothing about what runs. */
const DATA = new Set(
  `cat head tail wc sort uniq cut grep egrep fgrep rg ls du df stat file diff cmp find cp mv rm mkdir rmdir touch ln
  chmod chown tar gzip gunzip zip unzip zstd xz rsync tee basename dirname realpath readlink cd pushd git`.split(/\s+/),
);

/** Words of a command that are known only when it runs, and that may decide what runs. */
function unknownWords(command: FoundCommand, feedsShell: boolean): readonly FoundWord[] {
  const name = nameOf(command);
  if (ONLY_TEXT.has(name) && name !== "eval" && !feedsShell) return [];
  if (EVALUATING.has(name) && !feedsShell) return [];
  return command.words.slice(0, command.own).filter((word, at) => {
    if (word.value !== undefined) return /^~[-+\d]/.test(word.text) && !word.text.startsWith("~+/");
    if (at === 0) return true;
    const runs = isInterpreter(name) || feedsShell;
    if (word === ADDED || word.text === ADDED.text) return runs;
    if (!runs && DATE.test(word.text)) return false;
    return runs || !DATA.has(name) || /^(cd|pushd)$/.test(name);
  });
}

/** A name with the date: it names what is written. */
const DATE = /^[^$`*?[\]]*\$\(date[^$`()]*\)[^$`*?[\]]*$/;

function isInterpreter(name: string): boolean {
  return SHELLS.has(name) || runsItsWords(name) || /^(source|\.|eval|exec|env|xargs|sudo|doas)$/.test(name);
}

/** Files that are only written: what a repeated run writes is not why it must be asked about again. */
function onlyWritten(
  found: FoundScript,
  within: (folder: string, path: string) => string,
  cwd: string,
): ReadonlySet<string> {
  const named = namedPaths(found).map(({ path, use, folder = "" }) => ({
    use,
    path: within(within(cwd, folder), path),
  }));
  const read = new Set(named.filter(({ use }) => use === "read").map(({ path }) => path));
  return new Set(named.filter(({ use, path }) => use === "write" && !read.has(path)).map(({ path }) => path));
}

/** The whole word, and every part of it that may be a path. */
function tokensOf({ value, text }: FoundWord): readonly string[] {
  const whole = value ?? text;
  const behindLetters = /^-\w+/.test(whole) ? [2, 3, 4].map((at) => whole.slice(at)) : [];
  const imports = Array.from(
    whole.matchAll(/\bfrom\s+([\w.]+)\s+import\s+(\w+)/g),
    ([, from, name]) => `${from}.${name}`,
  );
  return [whole, ...splitTokens(whole), ...imports, ...behindLetters].filter((token) => token !== "");
}

function splitTokens(text: string): readonly string[] {
  const plain = text
    .replaceAll(/\$(PWD\b|\{PWD\})/g, ".")
    .replaceAll("file://", " ")
    .replace(/^~\+(?=\/)/, ".");
  return plain.split(/[\s;|&()<>"'`=:,@{}[\]$]+/).filter((token) => token !== "");
}

/** Values of options: each may be the folder in which a program works. */
function foldersOf({ words }: FoundCommand): readonly string[] {
  return words.flatMap(({ value = "" }, at) => {
    const before = words[at - 1]?.value ?? "";
    if (!value.startsWith("-")) return before.startsWith("-") ? [value] : [];
    const [, glued] = /^(?:--[\w-]+=|-[A-Za-z])(.+)$/s.exec(value) ?? [];
    return glued === undefined ? [] : [glued];
  });
}

/** The files that a pattern may name, if all of the word but its last part is literal. */
function patternIn({ text, prefix }: FoundWord): NamePattern | undefined {
  if (!/^[^$`(){}"'\\]*$/.test(text) || !/[*?[]/.test(text)) return undefined;
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  const isLast = !text.slice(text.search(/[*?[]/)).includes("/");
  return isLast ? { folder: folder === "" ? "." : folder, prefix: prefix.slice(folder.length), suffix: "" } : undefined;
}
