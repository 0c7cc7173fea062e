import type { Assignment, Word as ParsedWord, WordPart } from "./grammar.ts";

/** A word of a command, quotes removed. */
export interface FoundWord {
  /** As it is written. */
  readonly text: string;
  /** What it is when it runs; `undefined` when that is not known before (expansions, patterns). */
  readonly value: string | undefined;
  /** What it begins with in any case: all of it when it is known. */
  readonly prefix: string;
  /** True: its lists (`{a,b}`) make more words than are worked out. */
  readonly isTooMany?: true;
}

/** A word with this value. */
export function knownWord(value: string): FoundWord {
  return { text: value, value, prefix: value };
}

/** The words that a shell makes of one: several of a brace list, otherwise one. `home` is what `~` and `$HOME` stand for. */
export function wordsOf(word: ParsedWord, home: string): readonly FoundWord[] {
  const { text, parts } = word;
  if (parts === undefined) return [withTilde({ text, value: word.value, prefix: word.value }, home)];
  if (!parts.some(({ type }) => type === "BraceExpansion")) return [withTilde(readParts(text, parts, home), home)];
  const expanded = /[\\'"`$*?[]/.test(text) ? undefined : expandBraces(text);
  const unknown = { text, value: undefined, prefix: text.slice(0, text.indexOf("{")) };
  if (expanded === "too many") return [{ ...unknown, isTooMany: true }];
  if (expanded === undefined) return [unknown];
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

/** The text that a word becomes, expansions as they are written: `rm $x` of `"rm $x"`. For words that are read as scripts. */
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
      // The walk of the script knows in which folder that is.
      if (part.text === "$PWD" || part.text === "${PWD}") return ".";
      return part.text === "$HOME" || part.text === "${HOME}" ? home : undefined;
    case "CommandExpansion":
      // An empty one is nothing: `su$()do`.
      return part.script?.commands.length === 0 ? "" : undefined;
    case "ProcessSubstitution":
      return "/dev/fd/63";
    default:
      return undefined;
  }
}

/** `~`, `~/x` and `~root/x`, also behind the `=` of `of=~/x`; of other users the home by custom. */
function withTilde(word: FoundWord, home: string): FoundWord {
  const match = /^([A-Za-z_]\w*=)?~([A-Za-z_][\w.-]*)?(?=\/|$)/.exec(word.text);
  if (match === null || !word.prefix.startsWith(match[0])) return word;
  const [all, start = "", user] = match;
  const folder = user === undefined ? home : user === "root" ? "/root" : `/home/${user}`;
  const replaced = (from: string) => start + folder + from.slice(all.length);
  return {
    ...word,
    prefix: replaced(word.prefix),
    value: word.value === undefined ? undefined : replaced(word.value),
  };
}

/** More words than this from one are not worked out. */
const MOST_WORDS = 64;

/** What the lists in a word without quotes expand to: `a{b,c}` is `ab` and `ac`. `undefined`: it has a range. */
function expandBraces(word: string): readonly string[] | "too many" | undefined {
  const open = [word];
  const done: string[] = [];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    const braces = bracesIn(each);
    if (braces === undefined) {
      done.push(each);
    } else if (!braces.content.includes(",")) {
      return undefined;
    } else {
      const [before, after] = [each.slice(0, braces.start), each.slice(braces.end)];
      for (const item of braces.content.split(",").toReversed()) open.push(before + item + after);
    }
    // Also of words that are alike: `{,}{,}{,}` doubles them each time.
    if (open.length + done.length > MOST_WORDS) return "too many";
  }
  return [...new Set(done)];
}

/** The first list that has none in it; if there is no list, the first range. In one pass. `start` is where it opens, `end` is behind it. */
function bracesIn(word: string): { start: number; end: number; content: string } | undefined {
  let range: ReturnType<typeof bracesIn>;
  let start = -1;
  for (let at = 0; at < word.length; at++) {
    if (word[at] === "{") start = at;
    if (word[at] !== "}" || start === -1) continue;
    const found = { start, end: at + 1, content: word.slice(start + 1, at) };
    if (found.content.includes(",")) return found;
    if (found.content.includes("..")) range ??= found;
    start = -1;
  }
  return range;
}
