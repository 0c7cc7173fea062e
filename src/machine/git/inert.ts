import { join } from "node:path";
import { commonOf, gitFolderOf, repositoryAbove } from "./folders.ts";
import { ASIDE } from "./layout.ts";
import { obeyed } from "./obeyed.ts";
import type { Reader } from "./reader.ts";
import { isHarmless, settingName, startsProgram } from "./settings.ts";

/** Settings of programs that everyday local commands do not start: pagers, editors, aliases, tools, credentials. */
const UNUSED =
  /^(core\.(pager|editor|askpass)$|(alias|pager|sequence|credential|(diff|merge)tool|guitool|browser|man|sendemail|web|help)\.)/;

/** The files of the repository in which git works in a folder. */
export interface RepositoryFiles {
  /** The work tree. */
  readonly top: string;
  readonly config: string;
  readonly worktreeConfig: string;
  readonly submodules: string;
  /** Whether everyday local commands start nothing here: no hook, and no program that a setting names. */
  readonly isInert: boolean;
}

/** Finds the repository in which git works in a folder. `undefined`: it has none, or does not exist. Pure. */
export function repositoryFiles(reader: Reader, folder: string, home: string): RepositoryFiles | undefined {
  const real = reader.realOf(folder);
  const worktree = reader.kindOf(real) === "folder" ? repositoryAbove(reader, real) : undefined;
  const gitFolder = worktree === undefined ? undefined : gitFolderOf(reader, worktree);
  if (worktree === undefined || gitFolder === undefined) return undefined;
  const { settings, hooks, isWhole } = obeyed(reader, { gitFolder, worktree, home });
  const names = settings.filter((setting) => !isHarmless(setting)).map(settingName);
  const started = hooks.flatMap((each) => reader.namesIn(each)).filter((name) => !isSample(name));
  return {
    top: worktree,
    config: join(commonOf(reader, gitFolder) ?? gitFolder, "config"),
    worktreeConfig: join(gitFolder, "config.worktree"),
    submodules: join(worktree, ".gitmodules"),
    isInert: isWhole && started.length === 0 && !names.some((name) => startsProgram(name) && !UNUSED.test(name)),
  };
}

const isSample = (name: string) => name.endsWith(".sample") || ASIDE.test(name);
