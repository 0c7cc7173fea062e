import { gitWords, subcommandOf } from "./found-words.ts";
import { highRisk, isHighProgram } from "./high-risk.ts";
import { type CommandRisk, entryOf, isListedProgram } from "./reasons.ts";
import { type FoundCommand, nameOf } from "./search.ts";
import { isWrapper } from "./wrapped.ts";

/** Risk and reason of one command, by program and subcommand: its options decide only what is of high risk. */
export function riskOf(command: FoundCommand): CommandRisk {
  const { words } = command;
  const high = highRisk(command);
  if (high !== undefined) return { risk: "high", why: high, project: false };
  const [first] = words;
  if (first === undefined) return { risk: "low", why: "sets variables", project: false };
  const medium = (why: string, project = false): CommandRisk => ({ risk: "medium", why, project });
  if (first.value === undefined) return medium(`the command that ${first.text} names is known only when it runs`);
  const name = nameOf(command);
  const isOfProject = first.value.includes("/") && !SYSTEM_FOLDER.test(first.value);
  if (isOfProject && !INSTALLED.test(first.value)) return medium("runs a program of the project", true);
  const subcommand = subcommandOf(words)?.value ?? "";
  const entry = entryOf(`${name} ${subcommand}`) ?? entryOf(name);
  if (entry !== undefined) return isOfProject ? { ...entry, risk: "medium", project: true } : entry;
  if (isOfProject) return medium("runs a tool of the project", true);
  if (isWrapper(name)) return { risk: "low", why: "runs another command", project: false };
  return medium(isKnownProgram(name) ? "reads outside the workspace" : `the command ${name} is not known`);
}

/** Programs of which something is known here, by their name without folders. */
export function isKnownProgram(name: string): boolean {
  return isListedProgram(name) || isWrapper(name) || isHighProgram(name);
}

/** Why a command throws away work that nothing brings back, by name; `undefined`: it does not. */
export function throwsAway({ words }: FoundCommand): string | undefined {
  const [subcommand, ...given] = gitWords(words);
  const text = given.map((word) => ` ${word}`).join("");
  return THROWING.find(([names, pattern]) => names === subcommand && pattern.test(text))?.[2];
}

const NO_BRANCH = "it removes commits that no branch holds";

/** Subcommands of git that throw work away, with words like these behind them. */
const THROWING: readonly (readonly [subcommand: string, words: RegExp, why: string])[] = [
  ["clean", /^(?!.* (-\w*n|--dry-run))/s, "it removes files that git does not keep"],
  ["stash", /^ (drop|clear)( |$)/, "it throws stashed changes away"],
  ["reflog", /^ (expire|delete)( |$)/, "it forgets where branches were"],
  ["gc", / --prune(=| |$)/, NO_BRANCH],
  ["prune", /^/, NO_BRANCH],
  ["update-ref", / (-\w*d|--delete|--stdin)/, "it removes a branch"],
  ["branch", / -\w*D|^(?=.* (-\w*d|--delete)).* (-\w*f|--force)/s, "it removes a branch"],
  ["filter-branch", /^/, "it rewrites all history"],
  ["filter-repo", /^/, "it rewrites all history"],
];

const SYSTEM_FOLDER = /^(\/usr(\/local)?)?\/s?bin\/[^/]+$/;

const INSTALLED = /(^|\/)(node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/[^/]+$/;
