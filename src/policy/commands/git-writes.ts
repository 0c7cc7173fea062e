import type { Scope } from "../../core/contract/decision.ts";
import type { RepositoryFiles } from "../../machine/git/inert.ts";
import { gitWords } from "./found-words.ts";
import type { FoundCommand } from "./search.ts";

type File = Exclude<keyof RepositoryFiles, "isInert" | "top">;

/**
 * How a file is opened. "asked": a person answers. "any-key": only a person, since any program may be named. "unasked":
 * what git writes leads to no program, so nobody need be asked where the repository starts nothing. "aside": likewise,
 * and the command does its main work without it, so that it is never asked about or refused for it.
 */
type How = "asked" | "any-key" | "unasked" | "aside";

/**
 * What commands of git write of a repository that is read-only in the sandbox: its configuration. `words`: from the
 * subcommand on; the first row decides. Everything else that git writes in daily work is writable (`WORKING` in
 * git/layout.ts).
 */
const WRITES: readonly (readonly [files: readonly File[], words: RegExp, how: How])[] = [
  [["config"], /^remote( -\S+)* (add|remove|rm|rename|set-url|set-branches)( |$)/, "asked"],
  [["config", "submodules"], /^submodule( -\S+)* (add|set-url|set-branch)( |$)/, "asked"],
  [["config"], /^submodule( -\S+)* (init|update|sync|deinit|absorbgitdirs)( |$)/, "unasked"],
  [["config"], /^branch .*(?<= )(-[a-z]*[mMcC]|--(move|copy|edit-description))/s, "asked"],
  [["config"], /^branch .*(?<= )(-[a-z]*u|--(un)?set-upstream)/s, "unasked"],
  [["config"], /^config(?!.* --global( |$))(( -\S*)* (?!-).*){2}/s, "any-key"],
  [
    ["config"],
    /^config(?!.* --global( |$)).* --(unset|add|replace-all|remove-section|rename-section|edit)/s,
    "any-key",
  ],
  [["config", "worktreeConfig"], /^sparse-checkout( -\S+)* (init|set|add|reapply|disable)( |$)/, "unasked"],
  // Settings of the branch that is removed, and the branch that a new one follows.
  [["config"], /^branch .*(?<= )(-[a-z]*[dD]|--delete)( |$)/s, "aside"],
  [["config"], /^(branch( -\S+)* [^-]\S*|checkout|switch|worktree( -\S+)* add)( -\S+)* [^-]/s, "aside"],
];

/** A file that a command of git writes, and how it is opened. */
export interface GitWrite {
  readonly file: File;
  readonly how: How;
}

/** What a command writes. */
export function gitWrites(command: FoundCommand): readonly GitWrite[] {
  const text = gitWords(command.words).join(" ");
  if (text === "") return [];
  const [files, , how] = WRITES.find(([, words]) => words.test(text)) ?? [];
  return (files ?? []).map((file) => ({ file, how: setsName(command) ? "unasked" : (how ?? "asked") }));
}

/** `git config` sets any key, also keys that name programs. */
export function limitsOf(how: How): Pick<Scope, "onlyPerson"> {
  return how === "any-key" ? { onlyPerson: true } : {};
}

/** Whether the command only sets the name in commits (a variable can give it too). Then git starts nothing. */
export function setsName({ words }: FoundCommand): boolean {
  const given = gitWords(words);
  if (words.some(({ value }) => value === undefined) || given.length !== (given[1] === "--local" ? 4 : 3)) return false;
  const [subcommand, option = "", value = ""] = given.filter((word) => word !== "--local");
  return subcommand === "config" && /^user\.(name|email)$/.test(option) && /^[^-\p{Cc}][^\p{Cc}]*$/u.test(value);
}

/** Commands of git that start nothing besides what a repository names, and that need no network. */
const LOCAL =
  /^(add|branch|checkout|commit|init|merge|mv|reset|restore|rm|sparse-checkout|stash|status|switch|tag|worktree)$/;

/** Whether a command of git starts no program in an inert repository. A strategy of `git merge` is a program. */
export function isLocal({ words }: FoundCommand): boolean {
  const [subcommand = "", ...given] = gitWords(words);
  return LOCAL.test(subcommand) && !(subcommand === "merge" && given.some((word) => /^(-\w*s|--strat)/.test(word)));
}

/** The folder in which `git init` or `git clone` makes a repository, from where it works. */
export function madeByGit({ words }: FoundCommand): string | undefined {
  const [subcommand, ...given] = gitWords(words);
  if (subcommand !== "init" && subcommand !== "clone") return undefined;
  const operands = given.filter((word) => !word.startsWith("-"));
  if (subcommand === "init") return operands.at(-1) ?? "";
  return operands.length > 1 ? operands.at(-1) : /([^/:]+?)(\.git)?\/*$/.exec(operands[0] ?? "")?.[1];
}
