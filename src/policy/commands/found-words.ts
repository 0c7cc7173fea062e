import { posix } from "node:path";
import type { Assignment, Word as ParsedWord, WordPart } from "./grammar.ts";

/** A word of a command, quotes removed. */
export interface FoundWord {
  readonly text: string;
  /** The word at run time; `undefined` if it is known only then (expansions, patterns). */
  readonly value: string | undefined;
  /** The known beginning of the word: the whole word if all of it is known. */
  readonly prefix: string;
}

export function knownWord(value: string): FoundWord {
  return { text: value, value, prefix: value };
}

/** The words that a shell makes of one word: several for a brace list. `home` replaces `~` and `$HOME`. */
export function wordsOf(word: ParsedWord, home: string): readonly FoundWord[] | "too many" {
  const { text, parts } = word;
  if (parts === undefined) return [withTilde({ text, value: word.value, prefix: word.value }, home)];
  if (!parts.some(({ type }) => type === "BraceExpansion")) return [withTilde(readParts(text, parts, home), home)];
  const expanded = /[\\'"`$*?[]/.test(text) ? undefined : expandBraces(text);
  if (expanded === "too many") return expanded;
  if (expanded === undefined) return [{ text, value: undefined, prefix: text.slice(0, text.indexOf("{")) }];
  return expanded.filter((each) => each !== "").map((each) => withTilde(knownWord(each), home));
}

/** An assignment that is an argument: `dd of=x`, `export A=b`. `expand` is `wordsOf`. */
export function assignmentWord(
  { text, name, value, index }: Assignment,
  expand: (word: ParsedWord) => readonly FoundWord[],
): FoundWord {
  const prefix = `${name}=`;
  if (value.type !== "Word" || index !== undefined) return { text, value: undefined, prefix: name };
  const [only] = value.text === "" ? [knownWord("")] : expand(value);
  if (only === undefined) return { text, value: undefined, prefix };
  return { text, value: only.value === undefined ? undefined : prefix + only.value, prefix: prefix + only.prefix };
}

/** The text of a word that is read as a script, with its expansions as written: `rm $x` for `"rm $x"`. */
export function scriptIn({ value, text }: FoundWord): string {
  return value ?? text.replace(/^"(.*)"$/s, "$1");
}

function readParts(text: string, parts: readonly WordPart[], home: string): FoundWord {
  let prefix = "";
  let known = true;
  const add = (part: WordPart): void => {
    if (!known) return;
    const literal = literalOf(part, home);
    if (literal !== undefined) prefix += literal;
    else if (part.type === "DoubleQuoted" || part.type === "LocaleString") part.parts.forEach(add);
    else known = false;
  };
  parts.forEach(add);
  return { text, value: known ? prefix : undefined, prefix };
}

function literalOf(part: WordPart, home: string): string | undefined {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return part.value;
    case "SimpleExpansion":
    case "ParameterExpansion":
      // The walk of the script knows in which folder the command runs.
      if (part.text === "$PWD" || part.text === "${PWD}") return ".";
      return part.text === "$HOME" || part.text === "${HOME}" ? home : undefined;
    case "CommandExpansion":
      // An empty substitution adds nothing: `su$()do`.
      return part.script?.commands.length === 0 ? "" : undefined;
    case "ProcessSubstitution":
      return "/dev/fd/63";
    default:
      return undefined;
  }
}

/** `~`, `~/x` and `~root/x`, also behind the `=` of `of=~/x`. For other users, the usual place of their home. */
function withTilde(word: FoundWord, home: string): FoundWord {
  const match = /^([A-Za-z_]\w*=)?~([A-Za-z_][\w.-]*)?(?=\/|$)/.exec(word.text);
  if (match === null || !word.prefix.startsWith(match[0])) return word;
  const [all, start = "", user] = match;
  const folder = user === undefined ? home : user === "root" ? "/root" : `/home/${user}`;
  const replaced = (from: string) => start + folder + from.slice(all.length);
  return { ...word, prefix: replaced(word.prefix), value: word.value === undefined ? undefined : replaced(word.value) };
}

/** The maximum number of words to which one word is expanded. */
const MOST_WORDS = 64;

/** What the brace lists in an unquoted word expand to: `a{b,c}` gives `ab` and `ac`. `undefined`: a list is a range. */
function expandBraces(word: string): readonly string[] | "too many" | undefined {
  const open = [word];
  const done: string[] = [];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const list = LIST.exec(each);
    if (list === null) {
      if (each.match(/\{[^{}]*\}/g)?.some((braces) => braces.includes("..")) === true) return undefined;
      done.push(each);
    } else {
      const [before, after] = [each.slice(0, list.index), each.slice(list.index + list[0].length)];
      for (const item of list[1]?.split(",").toReversed() ?? []) open.push(before + item + after);
    }
    // Counts equal words too: each `{,}` of `{,}{,}{,}` doubles them.
    if (open.length + done.length > MOST_WORDS) return "too many";
  }
  return [...new Set(done)];
}

const LIST = /\{([^{},]*(?:,[^{},]*)+)\}/;

/** The words of a git command, from the subcommand on; no words for other commands. */
export function gitWords(words: readonly FoundWord[]): readonly string[] {
  const subcommand = isGitIn(words) ? subcommandOf(words) : undefined;
  return subcommand === undefined ? [] : words.slice(words.indexOf(subcommand)).map(({ prefix }) => prefix);
}

/** The folder in which a git command works, as `-C` says; "" is the command's own folder. */
export function gitFolder(words: readonly FoundWord[]): string {
  const own = words.slice(
    1,
    words.findIndex((word) => word === subcommandOf(words)),
  );
  return posix.join(...own.flatMap((word, at) => (word.value === "-C" ? (own[at + 1]?.value ?? "") : [])), "");
}

function isGitIn([name]: readonly FoundWord[]): boolean {
  return /(^|\/)git$/.test(name?.value ?? "");
}

/** The first word that is neither an option nor the value of one of git's own options. */
export function subcommandOf(words: readonly FoundWord[]): FoundWord | undefined {
  const isGit = isGitIn(words);
  const isValue = (at: number) =>
    isGit && /^(-[Cc]|--git-dir|--work-tree|--namespace)$/.test(words[at - 1]?.value ?? "");
  return words.find(({ prefix }, at) => at > 0 && !prefix.startsWith("-") && !isValue(at));
}

/** The values of these options, also abbreviated: `-o VALUE`, `-oVALUE`, `--option=VALUE`, `--option VALUE`. */
export function optionValues(words: readonly FoundWord[], names: string): readonly FoundWord[] {
  const listed = names.split(" ");
  const letters = listed.flatMap((name) => (/^-[A-Za-z]$/.test(name) ? name.slice(1) : []));
  return words.flatMap((word, at): readonly FoundWord[] => {
    if (at === 0 || !/^-[^=]/.test(word.prefix) || word.prefix === "--") return [];
    const [option = "", ...rest] = word.prefix.split("=");
    const isLong = option.startsWith("--");
    if (listed.some((name) => name === word.value || (isLong && option.length > 3 && name.startsWith(option)))) {
      if (rest.length > 0) return [behindPrefix(word, option.length + 1)];
      return words.slice(at + 1, at + 2);
    }
    // One letter among several: its value is the text behind it, or the next word if there is no text, or if the text
    // is only another letter (`tar cIf`).
    const cluster = isLong ? "" : (/^-[A-Za-z]+/.exec(word.prefix)?.[0] ?? "");
    const first = Array.from(cluster).findIndex((letter, index) => index > 0 && letters.includes(letter));
    if (first === -1) return [];
    const isWhole = cluster.length === word.prefix.length;
    const glued = first + 1 < word.prefix.length ? [behindPrefix(word, first + 1)] : [];
    const mayTakeNext = isWhole && (first > 1 || letters.includes(cluster.at(-1) ?? ""));
    return mayTakeNext ? [...glued, ...words.slice(at + 1, at + 2)] : glued;
  });
}

export function behindPrefix(word: FoundWord, length: number): FoundWord {
  const value = word.value?.slice(length);
  return { text: word.text, value, prefix: word.prefix.slice(length) };
}
