import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { homeOf } from "../app/config/state.ts";
import { plainGit } from "../machine/git/plain.ts";
import { runProgram } from "../machine/programs/start.ts";
import { messageOf } from "../core/util/errors.ts";
import { randomName } from "../core/util/identifier.ts";
import { quoteWords } from "../core/util/quote.ts";
import type { AgentOptions } from "./options.ts";
import { warn } from "./say.ts";
import { settingsFrom } from "./settings.ts";
import type { Io } from "./io.ts";

/** A worktree of the user's repository, for one session. */
interface Worktree {
  /** The path beside the repository: `../orchard-api.worktrees/fix-login`. */
  readonly path: string;
  /** The folder in the worktree that corresponds to the folder in which the program was started. */
  readonly folder: string;
  /** `handrail/fix-login`. */
  readonly branch: string;
  /** The repository's own folder, and the `.git` folder of the worktree. */
  readonly main: string;
  readonly gitFolder: string;
  /** The commit at the beginning. */
  readonly base: string;
}

/**
 * Runs `work` in a git worktree if `--worktree` asks for one: the worktree with this name, or a new one from HEAD, on
 * its own branch. Afterwards, removes it if nothing was changed or committed; otherwise prints to stderr how to merge
 * or remove it.
 *
 * @throws Error for a target, for a thread that is continued, and where git has no repository or makes no worktree.
 */
export async function inWorktree<O extends AgentOptions, T>(options: O, work: (options: O) => Promise<T>): Promise<T> {
  const { worktree: named, target, resume, continue: latest } = options;
  if (named === undefined) return work(options);
  if (target !== undefined)
    throw new Error("--worktree needs a repository of this machine: leave out the option of the target");
  if (resume !== undefined || latest)
    throw new Error(
      "--worktree begins a thread in a folder of its own. A thread is continued in its worktree: leave it out",
    );
  const settings = await settingsFrom(options);
  const worktree = await openWorktree(
    options.io,
    settings.tools.workDir ?? ".",
    named === true ? randomName(6) : named,
  );
  warn(options.io, [
    `works in ${worktree.path}, on the branch ${worktree.branch}. Files that git ignores are not there`,
  ]);
  try {
    return await work({ ...options, workDir: worktree.folder });
  } finally {
    warn(options.io, await endOf(options.io, worktree));
  }
}

async function openWorktree(io: Io, folder: string, name: string): Promise<Worktree> {
  if (!/^[\w][\w.-]{0,60}$/.test(name) || name.endsWith(".lock") || name.includes(".."))
    throw new Error(`--worktree ${name}: expected letters, digits, -, _ and .`);
  const asked = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
  const common = await git(io, folder, asked);
  const main = basename(common) === ".git" ? dirname(common) : common;
  const path = join(dirname(main), `${basename(main)}.worktrees`, name);
  const branch = `handrail/${name}`;
  if (!existsSync(path)) {
    const isKept = await git(io, folder, ["rev-parse", "--verify", "-q", `refs/heads/${branch}`]).catch(() => "");
    await git(io, folder, ["worktree", "add", ...(isKept === "" ? ["-b", branch, path, "HEAD"] : [path, branch])]);
  }
  const [gitFolder = "", base = ""] = (await git(io, path, ["rev-parse", "--absolute-git-dir", "HEAD"])).split("\n");
  if (dirname(dirname(gitFolder)) !== common) throw new Error(`${path} is there already, and no worktree of ${main}`);
  const inside = join(path, await git(io, folder, ["rev-parse", "--show-prefix"]));
  return { path, folder: existsSync(inside) ? inside : path, branch, main, gitFolder, base };
}

/** Removes an unchanged worktree. Returns sentences for people. */
async function endOf(io: Io, { path, branch, main, gitFolder, base }: Worktree): Promise<readonly string[]> {
  // What a model wrote into the worktree, its .git included, is not obeyed.
  const { env, options } = plainGit(path, homeOf(io.env));
  const plain = { env: { ...env, GIT_DIR: gitFolder }, options };
  const changed = await git(io, path, ["status", "--porcelain"], plain);
  const commits = await git(io, path, ["rev-list", "--count", `${base}..HEAD`], plain);
  if (changed === "" && commits === "0") {
    const isOwn = (await git(io, path, ["symbolic-ref", "-q", "HEAD"], plain)) === `refs/heads/${branch}`;
    await git(io, main, ["worktree", "remove", path]);
    if (isOwn) await git(io, main, ["branch", "-d", branch]).catch(() => ""); // a branch with other commits stays
    return [`the worktree ${path} was not changed, and is removed`];
  }
  const open = changed === "" ? "" : "Some changes are not committed. ";
  const command = (...words: string[]) => quoteWords(["git", "-C", main, ...words]);
  return [
    `the work is in ${path}, on the branch ${branch}. ${open}`.trimEnd(),
    `to merge: ${command("merge", branch)}`,
    `to remove: ${command("worktree", "remove", "--force", path)} && ${command("branch", "-D", branch)}`,
  ];
}

/** Runs no hook and no file monitor. */
const QUIET = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/** Runs git, and returns what it prints without the last line break. */
async function git(
  io: Io,
  folder: string,
  args: readonly string[],
  { env = {}, options = QUIET }: Partial<ReturnType<typeof plainGit>> = {},
): Promise<string> {
  const ran = await runProgram(["git", ...options, "-C", folder, ...args], {
    ...{ cwd: io.cwd, inherits: io.env, path: io.env["PATH"] },
    env: { ...env, LC_ALL: "C" },
  }).catch((cause: unknown) => {
    throw new Error(`--worktree needs git: ${messageOf(cause)}`, { cause });
  });
  if (ran.code === 0) return ran.stdout.toString("utf8").trimEnd();
  const why = ran.stderr.toString("utf8").trim().split("\n").at(-1);
  throw new Error(`--worktree: git ${args[0]} failed: ${why || `exit code ${ran.code}`}`);
}
