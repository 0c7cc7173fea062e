import { basename } from "node:path";
import { REST, type Spelled, isSpelledLike, spelled } from "./spelling.ts";
import { subcommandsOf } from "../commands/program-subcommands.ts";
import { wordsOf } from "./words.ts";

export interface CommandWords {
  /** The name and its arguments, without quotes. */
  readonly words: readonly string[];
  readonly text: string;
}

/** A rule for commands, word by word. */
export interface CommandPattern {
  readonly words: readonly WordPattern[];
  /** Whether any further words may follow. */
  readonly open: boolean;
  /** Whether the text has more than one command (`&&`, `;`, a pipe). A rule is compared with one command at a time. */
  readonly isList: boolean;
}

type WordPattern =
  | { readonly is: "word"; readonly text: string }
  /** Any word that begins with this text. */
  | { readonly is: "beginning"; readonly text: string }
  | { readonly is: "any" };

export type ParsedPattern =
  | { readonly ok: true; readonly pattern: CommandPattern }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads the pattern of a command. `*` is one word, at the end any number; behind part of a word its rest. `:*` at the
 * end is ` *`. A name alone, in our own spelling, is that command with any arguments; `Bash(ls)` is `ls` without any.
 */
export function commandPattern(text: string, spelling: "own" | "field"): ParsedPattern {
  const written = text.replace(/:\*$/, " *");
  const parsed = wordsOf(written);
  if (!parsed.ok && parsed.why === "open") return { ok: false, problem: "a quote in it is not closed" };
  if (!parsed.ok) return { ok: true, pattern: { words: [], open: false, isList: true } };
  const last = parsed.words.at(-1);
  const open = last === "*" || (spelling === "own" && parsed.words.length === 1);
  const words: WordPattern[] = [];
  for (const word of last === "*" ? parsed.words.slice(0, -1) : parsed.words) {
    const star = word.indexOf("*");
    if (star !== -1 && star !== word.length - 1) {
      return {
        ok: false,
        problem: `"*" may stand for a whole word or at the end of one, not as in ${JSON.stringify(word)}`,
      };
    }
    if (word === "*") words.push({ is: "any" });
    else if (star === -1) words.push({ is: "word", text: word });
    else words.push({ is: "beginning", text: word.slice(0, -1) });
  }
  return { ok: true, pattern: { words, open, isList: false } };
}

/** Matches strictly, for allow rules: the rule names every word, and the program by its plain name. */
export function matchesStrictly({ words, open, isList }: CommandPattern, command: CommandWords): boolean {
  if (isList || command.words.length < words.length) return false;
  if (!open && command.words.length > words.length) return false;
  return words.every((pattern, index) => fits(pattern, command.words[index] ?? ""));
}

/**
 * Matches leniently, for ask and deny rules: `git push` matches `/usr/bin/git -C sub push --force`, `rm -rf` matches
 * `rm -r --force` (`spelling.ts`).
 */
export function matchesLeniently(pattern: CommandPattern, command: CommandWords): boolean {
  const { words, isList } = pattern;
  if (isList) return false;
  const [name, ...rest] = words;
  const [program, ...given] = command.words;
  if (name === undefined) return true;
  const spelling = spellingOf(pattern);
  const asSpelled = rest.length === 0 || spelling === undefined ? undefined : spelledCommand(command);
  if (asSpelled !== undefined && asSpelled.program === spelling?.program && isSpelledLike(spelling, asSpelled))
    return true;
  if (program === undefined || !(fits(name, program) || fits(name, basename(program)))) return false;
  let at = 0;
  for (const next of rest) {
    while (at < given.length && !fits(next, given[at] ?? "") && isOptionOrItsValue(given, at)) at++;
    if (at >= given.length || !fits(next, given[at] ?? "")) return false;
    at++;
  }
  return true;
}

/** Whether a command of git is none that is known, so it may be an alias of what a rule for git is about. */
export function mayHide(pattern: CommandPattern, command: CommandWords): boolean {
  const rule = spellingOf(pattern);
  if (rule?.program !== "git" || rule.words.length === 0 || command.words.length < 2) return false;
  const { program, words } = spelledCommand(command);
  const [name] = words;
  return program === "git" && name !== undefined && subcommandsOf("git")?.has(name.text) !== true;
}

const spellings = new WeakMap<CommandPattern, Spelled>();
const commands = new WeakMap<CommandWords, Spelled>();

function spelledCommand(command: CommandWords): Spelled {
  const read = commands.get(command) ?? spelled(command.words);
  commands.set(command, read);
  return read;
}

/** A rule in one spelling, read once; `undefined` if it does not name one program. */
export function spellingOf(pattern: CommandPattern): Spelled | undefined {
  const { words, isList } = pattern;
  if (isList || words[0]?.is !== "word") return undefined;
  const known = spellings.get(pattern);
  if (known !== undefined) return known;
  const texts = words.map((word) => (word.is === "any" ? REST : word.is === "word" ? word.text : word.text + REST));
  const read = spelled(texts);
  spellings.set(pattern, read);
  return read;
}

/**
 * Whether a word is an option or may be an option's value, such as `-C` and `sub` in `-C sub`. Which options take a
 * value is unknown.
 */
function isOptionOrItsValue(given: readonly string[], at: number): boolean {
  return (given[at] ?? "").startsWith("-") || (given[at - 1] ?? "").startsWith("-");
}

function fits(pattern: WordPattern, word: string): boolean {
  switch (pattern.is) {
    case "any":
      return true;
    case "word":
      return word === pattern.text;
    case "beginning":
      return word.startsWith(pattern.text);
  }
}
