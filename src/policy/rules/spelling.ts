import { posix } from "node:path";
import { type ProgramOption, hasOneDash, optionsOf } from "../commands/program-options.ts";
import { subcommandNamed, subcommandsOf } from "../commands/program-subcommands.ts";
import { meant } from "./meanings.ts";

/** Ends a word of a rule that names only how a word begins. Alone it is any word. */
export const REST = "\0";

/** A command, or a rule, in one spelling: synonyms, aliases and the order of options make no difference. */
export interface Spelled {
  readonly program: string;
  readonly options: readonly SpelledOption[];
  /** The subcommand, then the operands. */
  readonly words: readonly Operand[];
}

interface SpelledOption {
  /** As it is written, without a value. */
  readonly word: string;
  /** What it may be. Several for the beginning of a long option; empty if it is not known. */
  readonly known: readonly ProgramOption[];
  readonly value: string | undefined;
}

interface Operand {
  readonly text: string;
  /** Whether it may be the value of an unknown option in front of it. */
  readonly mayBeValue?: boolean;
}

/** Programs that take a script of the project for a subcommand: `yarn deploy` is `yarn run deploy`. */
const RUNS_SCRIPTS = new Set(["yarn", "pnpm", "bun"]);

/** Reads the words of a command, or of a rule, in which `REST` may end a word. */
export function spelled([path = "", ...args]: readonly string[]): Spelled {
  const program = posix.basename(path).replace(/^pip3?(\.\d+)?$/, "pip");
  const module = /^(python[\d.]*|py)$/.test(program) && args[0] === "-m" ? args[1] : undefined;
  if (module !== undefined && optionsOf(module, []) !== undefined) return spelled(args.slice(1));
  const words = meant(program, args);
  const subcommands = subcommandsOf(program);
  if (subcommands === undefined) {
    const { options, operands } = parts(program, words, optionsOf(program, []) ?? []);
    return { program, options, words: operands };
  }
  const before = parts(program, words, optionsOf(program, []) ?? []).operands;
  const isNamed = ({ text }: Operand) => subcommandNamed(program, text) !== undefined;
  const first = before.findIndex((each) => each.mayBeValue !== true || isNamed(each));
  const one = before[first]?.text ?? "";
  const next = before[first + 1]?.text ?? "";
  const two = subcommands.get(`${one}.${next}`);
  const names =
    two ?? subcommandNamed(program, one) ?? (RUNS_SCRIPTS.has(program) && one !== "" ? ["run", one] : [one]);
  const { options, operands } = parts(program, words, optionsOf(program, [...names, next]) ?? []);
  const start = operands.findIndex(({ text }) => text === one);
  const rest = operands.filter((_, at) => at < start || at >= start + (two === undefined ? 1 : 2));
  return { program, options, words: one === "" ? operands : [...names.map((text) => ({ text })), ...rest] };
}

/** Returns whether a command does what a rule names: its options in any order, and its words in their order. */
export function isSpelledLike(rule: Spelled, command: Spelled): boolean {
  const given = namesIn(command.options);
  const isGiven = ({ word, known, value }: SpelledOption): boolean => {
    const [option] = known;
    const has = (name: string) =>
      (given.get(name) ?? []).some((each) => value === undefined || fits(value, each ?? ""));
    if (word.endsWith(REST)) return [...given.keys()].some((name) => name.startsWith(word.slice(0, -1)));
    if (option === undefined) return has(word) || (lettersOf(word).length > 1 && lettersOf(word).every(has));
    return option.means.length > 0 ? option.means.every(has) : option.names.some(has);
  };
  if (!rule.options.every(isGiven)) return false;
  let at = 0;
  for (const { text } of rule.words) {
    const isValue = () => command.words[at]?.mayBeValue === true;
    while (at < command.words.length && !fits(text, command.words[at]?.text ?? "") && isValue()) at++;
    if (at >= command.words.length || !fits(text, command.words[at]?.text ?? "")) return false;
    at++;
  }
  return true;
}

/** The options of a rule whose other spellings are not known, as they are written. */
export function unknownOptions({ options }: Spelled): readonly string[] {
  return options.flatMap(({ word, known }) => (known.length === 0 && !word.endsWith(REST) ? [word] : []));
}

/** Each name of each option, with its values. */
function namesIn(options: readonly SpelledOption[]): ReadonlyMap<string, readonly (string | undefined)[]> {
  const found = new Map<string, (string | undefined)[]>();
  const add = (name: string, value: string | undefined) => {
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  };
  for (const { word, known, value } of options) {
    if (value === "false") continue; // --privileged=false
    const names = known.flatMap((option) => [...option.names, ...option.means]);
    for (const name of new Set([word, ...names, ...(known.length === 0 ? lettersOf(word) : [])])) add(name, value);
  }
  return found;
}

function parts(program: string, args: readonly string[], known: readonly ProgramOption[]) {
  const options: SpelledOption[] = [];
  const operands: Operand[] = [];
  let mayBeValue = false;
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") {
      operands.push(...args.slice(at + 1).map((text) => ({ text })));
      break;
    }
    if (!/^-[^\0]/.test(word)) {
      operands.push({ text: word, ...(mayBeValue && { mayBeValue }) });
      mayBeValue = false;
      continue;
    }
    const found = optionsIn(word, program, known);
    const last = found.at(-1);
    const takesNext = last?.value === undefined && last?.known.some(({ takesValue }) => takesValue) === true;
    options.push(...(takesNext ? [...found.slice(0, -1), { ...last, value: args[at + 1] }] : found));
    if (takesNext) at++;
    mayBeValue = last?.known.length === 0 && last.value === undefined;
  }
  return { options, operands };
}

/** The options that one word is: several for `-rf`. */
function optionsIn(word: string, program: string, known: readonly ProgramOption[]): readonly SpelledOption[] {
  const [, start = word, glued] = /^(-[^=]*)=([^]*)$/.exec(word) ?? [];
  const name = hasOneDash(program) ? start.replace(/^--/, "-") : start;
  const exact = known.filter(({ names }) => names.includes(name)).slice(0, 1);
  if (exact.length > 0 || hasOneDash(program)) return [{ word: name, known: exact, value: glued }];
  if (name.startsWith("--")) {
    // Programs accept the beginning of a long option.
    const begun = name.endsWith(REST) ? [] : known.filter(({ names }) => names.some((each) => each.startsWith(name)));
    return [{ word: name, known: begun, value: glued }];
  }
  const found: SpelledOption[] = [];
  for (let at = 1; at < word.length; at++) {
    const letter = `-${word[at]}`;
    const option = known.find(({ names }) => names.includes(letter));
    if (option === undefined && at === 1) return [{ word: name, known: [], value: glued }];
    const value = option?.takesValue === true ? word.slice(at + 1).replace(/^=/, "") : "";
    found.push({ word: letter, known: option === undefined ? [] : [option], value: value === "" ? undefined : value });
    if (option?.takesValue === true) break;
  }
  return found;
}

/** The letters of `-rf`, as options; none of a long option. */
function lettersOf(word: string): readonly string[] {
  return /^-[A-Za-z0-9]{2,12}$/.test(word) ? Array.from(word.slice(1), (letter) => `-${letter}`) : [];
}

/** Whether a word is that of a rule. `./build/` is `build`. */
function fits(pattern: string, word: string): boolean {
  if (pattern.endsWith(REST))
    return word.startsWith(pattern.slice(0, -1)) || clean(word).startsWith(pattern.slice(0, -1));
  return pattern === word || clean(pattern) === clean(word);
}

function clean(word: string): string {
  return word.includes("://") || word === "" ? word : posix.normalize(word).replace(/(.)\/$/, "$1");
}
