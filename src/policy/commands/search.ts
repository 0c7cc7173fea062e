import type { FoundWord } from "./found-words.ts";

/** The longest script that is checked: 16 KiB. */
export const MAX_SCRIPT_BYTES = 16_384;
/** The deepest nesting of parentheses or braces that is checked. */
const MAX_NESTING = 64;
/** The most `<<` in a text that is parsed: the parser searches for the ends of here-documents in quadratic time. */
const MAX_HERE_DOCUMENTS = 1_000;
const MAX_COMMANDS = 150;
/** Limits the work for one script: the worst one of test/policy/commands/hostile.ts then takes less than 10 ms. */
export const MAX_STEPS = 100_000;
/** What things cost, in steps of about 50 ns. A parsed letter costs one step, and so does a visited node. */
export const STEPS = {
  text: 800,
  /** A letter in a substitution is parsed again for each substitution around it. */
  substituted: 2,
  command: 100,
  word: 45,
  part: 100,
  assignment: 50,
};

export interface FoundCommand {
  /** The command's words, its name first. Empty: the command only assigns variables. */
  readonly words: readonly FoundWord[];
  /** How many words belong to the command itself. The words after them are another command, found separately. */
  readonly own: number;
  readonly text: string;
  /** Whether the command is inside another one: in a substitution, a wrapper, a function, or text for a shell. */
  readonly nested: boolean;
  /** Whether an option or a setting names the command, for a program other than a shell: `tar -I 'sh -c id'`. */
  readonly hidden: boolean;
  /** The folder in which the command runs: absolute, or relative to the script's start (""); `undefined`: unknown. */
  readonly folder: string | undefined;
  readonly assigns: readonly Assigned[];
  readonly reads: readonly string[];
  /** Names of the commands inside its words: `a` in `eval "$(a)"`. */
  readonly inWords: readonly string[];
  readonly inFunction: string | undefined;
}

export interface Assigned {
  readonly name: string;
  /** `undefined`: known only when it runs. */
  readonly value: string | undefined;
  readonly text: string;
}

export interface FoundRedirection {
  readonly use: "read" | "write";
  readonly target: FoundWord;
  readonly text: string;
  /** As `FoundCommand.folder`. */
  readonly folder: string | undefined;
}

export interface Place extends Pick<FoundCommand, "nested" | "hidden" | "reads" | "inFunction"> {
  folder: string | undefined;
  readonly depth: number;
  /** The command whose words and redirections these are. */
  readonly owner: string;
  readonly here: readonly FoundWord[];
  readonly quoted: boolean;
}

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

export interface Search {
  readonly commands: Writable<FoundCommand>[];
  readonly redirections: FoundRedirection[];
  readonly unclear: Set<string>;
  readonly unread: Set<string>;
  tooLong: string | undefined;
  steps: number;
}

export function newSearch(): Search {
  return { commands: [], redirections: [], unclear: new Set(), unread: new Set(), tooLong: undefined, steps: 0 };
}

export function leaveOut(search: Search, why: string): void {
  search.unclear.add(why);
  search.tooLong ??= why;
}

/** Counts steps. Beyond the limit it throws `SPENT`, which ends the search. */
export function spend(search: Search, cost: number): void {
  search.steps = Math.min(search.steps + cost, MAX_STEPS + 1);
  if (search.steps <= MAX_STEPS && search.commands.length <= MAX_COMMANDS) return;
  leaveOut(search, "it is too long to be checked; split it, or write long text to a file");
  throw SPENT;
}

export const SPENT = new Error("The search for commands is at its limit");

/** The name of a command without folders; "" when the name is not known, or the command has no name. */
export function nameOf({ words: [name] }: Pick<FoundCommand, "words">): string {
  return name?.value?.slice(name.value.lastIndexOf("/") + 1) ?? "";
}

/** Why a text would take too long to read, with what to do; `undefined`: it would not take too long. */
export function tooLarge(text: string): string | undefined {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_SCRIPT_BYTES) {
    return (
      `it has ${bytes} bytes, and at most ${MAX_SCRIPT_BYTES} are checked; ` +
      "write long text to a file instead of giving it to a command"
    );
  }
  if (text.split("<<").length > MAX_HERE_DOCUMENTS) return `it has more than ${MAX_HERE_DOCUMENTS} "<<"; split it`;
  for (const [open, close] of ["()", "{}"]) {
    let depth = 0;
    for (const letter of text) {
      if (letter === open) depth++;
      else if (letter === close) depth = Math.max(0, depth - 1);
      if (depth > MAX_NESTING) return `its "${open}" are nested more than ${MAX_NESTING} deep; split it`;
    }
  }
  return undefined;
}

/** A character that shells and terminals read in different ways. */
export function unreadable(text: string): string | undefined {
  const code = /[\x00-\x08\x0b-\x1f\x7f]/.exec(text)?.[0].charCodeAt(0);
  return code === undefined ? undefined : `it has a control character (0x${code.toString(16).padStart(2, "0")})`;
}
