import type { Risk } from "../../contract/decision.ts";
import type { Word } from "./tree.ts";

/**
 * What a value of an option, or an operand, is:
 * - "text": says nothing of files or programs;
 * - "read", "write": a path, judged by the path rules; "folder": a folder that is looked through (judged like reading it);
 * - "remove": a path that is taken away, with all under it;
 * - "directory": the command works there (`git -C`, `make -C`): paths after it are relative to it;
 * - "url": reaches the network (medium risk at least);
 * - "script": text of a POSIX shell, judged like the script itself;
 * - "command": from here on the words are another command (`nice CMD ARG…`), judged like one;
 * - "program": text of another language, or a program's name that is run: medium risk at least, never ordinary;
 * - "program-file": a file with a program that is run: a path that is read, at medium risk, which is ordinary work;
 * - "none": there is none; one that stands there is not understood.
 */
export type ValueKind =
  | "text"
  | "read"
  | "write"
  | "folder"
  | "remove"
  | "directory"
  | "url"
  | "script"
  | "command"
  | "program"
  | "program-file"
  | "none";

/**
 * Names of options stand as they are typed, several for one option parted by spaces: `"-n --lines"`. A name that is in none of the
 * lists is not understood, nor is an abbreviation of a long one.
 */
export interface OptionTable {
  /** Options without a value: `"-a -l --all"`. */
  readonly flags?: string;
  /** Options that take one: `{ "-n --lines": "text" }`. Given glued (`-n5`, `--lines=5`) or as the next word. */
  readonly values?: { readonly [names: string]: ValueKind };
  /** Options whose value, if there is one, is glued: `{ "--color": "text", "-i": "text" }` (`--color=auto`, `-i.bak`). */
  readonly optional?: { readonly [names: string]: ValueKind };
  /** Of the options above, those that raise the risk, and why: `{ "-i --in-place": ["medium", "changes files"] }`. */
  readonly raise?: { readonly [names: string]: Raise };
  /** Options of the above that end the options: all words behind them (and their values) are operands (`python -m MODULE ARG…`). */
  readonly ends?: string;
}

/** How an option raises the risk. "ordinary": as `ordinary` of an entry says of its own risk. */
export type Raise = readonly [risk: Risk, why: string, mark?: "ordinary"];

/** What the words are that are no options: the first ones by position, then the rest; `last` is the last of them when there are two or more. */
interface OperandTable {
  readonly first?: readonly ValueKind[];
  /** Default "none". */
  readonly rest?: ValueKind;
  readonly last?: ValueKind;
}

/**
 * How options are written:
 * - "gnu": clusters (`-la`), glued values, `--name=value`, `--` ends them, they may stand behind operands;
 * - "posix": the same, but the first operand ends them (wrappers, `docker run`, `git` itself);
 * - "long-dash": names with one dash are whole words (`find -name`, `go test -run`, `java -jar`); `-name=value` is understood, no clusters;
 * - "words": there are none; every word is an operand, whatever it looks like (`echo`, `test`).
 */
export type Syntax = "gnu" | "posix" | "long-dash" | "words";

/** One command that this policy knows. Pure data, but for `refine`. */
export interface CommandSpec {
  /** Without folders: `["grep", "egrep"]`. Of a subcommand: its name and aliases. */
  readonly names: readonly string[];
  /**
   * Of the command with options and operands that are understood. "low": it only looks, and starts nothing of the workspace's;
   * "medium": it changes the workspace, reaches the network, or runs programs of the workspace; "high": it may harm beyond it.
   */
  readonly risk: Risk;
  /** What it does, for the person asked: "installs packages". Expected of medium and high ones. */
  readonly why?: string;
  /**
   * True: its medium risk is ordinary work on the project with the project's own tools (building, testing, installing, changing files of
   * the workspace, local commits), which a sandbox contains and nobody needs to be asked about there; so is what it runs, if that is
   * ordinary itself (`timeout`, `sh -c`). Not ordinary, and never marked: program text in arguments, other programs named by options, remotes
   * and accounts, settings that change what runs later, looking at processes and the environment. Default false: it is asked about.
   * "offline": it is as long as it has no network; then a remote is another folder.
   */
  readonly ordinary?: true | "offline";
  /** Default "gnu"; with `subcommands` "posix". */
  readonly syntax?: Syntax;
  /** Default: no option is understood. */
  readonly options?: OptionTable;
  /** Default: no operand is understood. */
  readonly operands?: OperandTable;
  /**
   * By the first operand. A subcommand inherits nothing but the options before it, which are those of this entry. One that is in no
   * entry here is judged like an unknown command; a command without any is judged by this entry.
   */
  readonly subcommands?: readonly CommandSpec[];
  /**
   * True: unknown words (`$x`, `$(…)`, what xargs adds) are harmless wherever they stand, as no word can make it do more
   * (`echo`). Default false: an unknown word is not understood, unless it is the value of a "text" option or operand and cannot be an option.
   */
  readonly anyWords?: boolean;
  /** What the tables cannot say. Its findings are added to those of options and operands; they can only make it stricter. */
  readonly refine?: (use: Use) => readonly Finding[];
  /** Commands that this entry judges, understood as a whole, at exactly its `risk`. With subcommands: whole commands too. None only of what is never understood. */
  readonly match: readonly string[];
  /** Commands that are not: another entry's, of a higher risk, or not understood. */
  readonly notMatch: readonly string[];
}

/** A command as the tables read it. */
export interface Use {
  readonly spec: CommandSpec;
  /** All its words: the name, then the arguments (of a subcommand from its name on). */
  readonly words: readonly Word[];
  /** In order; `name` as the table lists it first ("-n" of "-n --lines"). */
  readonly options: readonly GivenOption[];
  readonly operands: readonly Word[];
}

export interface GivenOption {
  /** The first of the table's names for it. */
  readonly name: string;
  readonly value?: Word;
}

/** Whether a medium risk is ordinary work; "offline": only without a network. As `CommandSpec.ordinary` says. */
export type Ordinary = boolean | "offline";

/** What a command, as it is written, comes down to. */
export type Finding =
  /** At least this risk. `ordinary`: a medium risk that is ordinary work, as `CommandSpec.ordinary` says. */
  | { readonly kind: "risk"; readonly risk: Risk; readonly why: string; readonly ordinary?: Ordinary }
  /** Not understood: may not run unasked. */
  | { readonly kind: "unclear"; readonly why: string; readonly risk?: Risk }
  /** A path that it touches. */
  | { readonly kind: "path"; readonly use: "read" | "write" | "folder" | "remove"; readonly word: Word }
  /** Paths found after this one are relative to that folder. */
  | { readonly kind: "directory"; readonly word: Word }
  /** Shell text that it runs. What of it is ordinary is so only where the entry is marked. */
  | { readonly kind: "script"; readonly word: Word }
  /** A command that it runs, name first; the same holds. `added`: it adds words of its own (xargs, find -exec), unknown ones. */
  | { readonly kind: "command"; readonly words: readonly Word[]; readonly added?: "unknown" };
