import { subcommandOf } from "./found-words.ts";
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
  if (first.value === undefined) return medium(`which command ${first.text} is, is known only when it runs`);
  const name = nameOf(command);
  const isOfProject = first.value.includes("/") && !SYSTEM_FOLDER.test(first.value);
  if (isOfProject && !INSTALLED.test(first.value)) return medium("runs a program of the project", true);
  const subcommand = subcommandOf(words)?.value ?? "";
  const entry = entryOf(`${name} ${subcommand}`) ?? entryOf(name);
  if (entry !== undefined) return isOfProject ? { ...entry, risk: "medium", project: true } : entry;
  if (isOfProject) return medium("runs a tool of the project", true);
  if (isWrapper(name)) return { risk: "low", why: "runs another command", project: false };
  return medium(
    isKnownProgram(name) ? "looks beyond the workspace" : `the command ${name} is not one that is known here`,
  );
}

/** Programs of which something is known here, by their name without folders. */
export function isKnownProgram(name: string): boolean {
  return isListedProgram(name) || isWrapper(name) || isHighProgram(name);
}

/** Why a command throws away work that nothing brings back, by name; `undefined`: it does not. */
export function throwsAway(command: FoundCommand): string | undefined {
  if (nameOf(command) !== "git") return undefined;
  const { words } = command;
  const subcommand = subcommandOf(words);
  const given = words.slice(words.findIndex((word) => word === subcommand) + 1).map(({ prefix }) => prefix);
  const has = (option: RegExp) => given.some((each) => option.test(each));
  switch (subcommand?.value) {
    case "clean":
      return has(/^-\w*n|^--dry-run/) ? undefined : "it removes files that git does not keep";
    case "stash":
      return /^(drop|clear)$/.test(given[0] ?? "") ? "it throws stashed changes away" : undefined;
    case "reflog":
      return /^(expire|delete)$/.test(given[0] ?? "") ? "it forgets where branches were" : undefined;
    case "gc":
      return has(/^--prune(=|$)/) ? "it removes commits that no branch holds" : undefined;
    case "prune":
      return "it removes commits that no branch holds";
    case "update-ref":
      return has(/^(-\w*d|--delete|--stdin)/) ? "it removes a branch" : undefined;
    case "branch":
      return has(/^-\w*D/) || (has(/^(-\w*d|--delete)/) && has(/^(-\w*f|--force)/)) ? "it removes a branch" : undefined;
    case "filter-branch":
    case "filter-repo":
      return "it rewrites all history";
    default:
      return undefined;
  }
}

const SYSTEM_FOLDER = /^(\/usr(\/local)?)?\/s?bin\/[^/]+$/;

/** Where package managers put the tools of a project. */
const INSTALLED = /(^|\/)(node_modules\/\.bin|\.?venv\/bin|vendor\/bin)\/[^/]+$/;
