import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OWN_CONFIGURATION_ONLY } from "../../machine/git/plain.ts";
import { ProgramMissing, findProgram } from "../../machine/programs/programs.ts";
import { startProgram } from "../../machine/programs/start.ts";
import { makePrivateFolder } from "../../core/util/private-file.ts";

/** Undo cannot work in this folder at all. The message is a sentence for people: why, and what they can do. */
export class UndoOff extends Error {}

/**
 * Options of a git command. Input and output have one character per byte (latin1), because file names need not be
 * UTF-8.
 */
export interface GitRun {
  /** The command's stdin. Default: empty. */
  readonly input?: string;
  /** The index file to use. */
  readonly index?: string;
  readonly signal?: AbortSignal;
}

/**
 * The configuration of a store. Git never sees the workspace: it stores content, prunes it, and prints diffs of trees
 * with any file names. It never packs or prunes by itself. Flushes objects to disk in batches.
 */
const CONFIG = `[core]
	repositoryformatversion = 0
	bare = true
	attributesFile = /dev/null
	protectNTFS = false
	protectHFS = false
	sharedRepository = 0600
	compression = 1
	fsyncMethod = batch
[gc]
	auto = 0
`;

/** Creates the folder of a store if it does not exist. Repeating it changes nothing. */
export async function initStore(store: string): Promise<void> {
  for (const folder of ["objects", "refs"]) await makePrivateFolder(join(store, folder));
  await writeFile(join(store, "config"), CONFIG, { mode: 0o600 });
  await writeFile(join(store, "HEAD"), "ref: refs/heads/none\n", { mode: 0o600 });
}

/**
 * Runs git on a store and returns what it printed.
 *
 * @throws UndoOff when git is not installed; Error with git's stderr when it fails.
 */
export async function git(store: string, args: readonly string[], run: GitRun = {}): Promise<string> {
  const child = startGit(store, args, run);
  const [out, errors] = [[] as Buffer[], [] as Buffer[]];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  child.stdin.on("error", () => {}); // git ended before it had read everything: the exit code shows why
  child.stdin.end(Buffer.from(run.input ?? "", "latin1"));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code === 0) return Buffer.concat(out).toString("latin1");
  const [firstLine = ""] = Buffer.concat(errors).toString("utf8").trim().split("\n");
  throw new Error(`git ${args[0]} failed: ${firstLine === "" ? `exit code ${code}` : firstLine}`);
}

/** Reads objects of a store, one after another. */
export interface ObjectReader {
  /** Rejects if the store has no such object. */
  read(id: string): Promise<Buffer>;
  close(): void;
}

/** Opens a reader. Holds each object in memory as a whole. */
export function openReader(store: string): ObjectReader {
  const child = startGit(store, ["cat-file", "--batch"]);
  child.stdin.on("error", () => {});
  child.stderr.resume();
  const chunks: AsyncIterator<Buffer> = child.stdout[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await chunks.next();
    if (done === true) throw new Error("git cat-file ended early");
    return value;
  };
  return {
    async read(id) {
      child.stdin.write(`${id}\n`);
      while (!rest.includes("\n")) rest = Buffer.concat([rest, await more()]);
      const heading = rest.subarray(0, rest.indexOf("\n")).toString("latin1");
      const [, type, size] = heading.split(" ");
      const parts = [rest.subarray(heading.length + 1)];
      rest = Buffer.alloc(0);
      if (type === "missing" || size === undefined) throw new Error(`the store of undo has no object ${id}`);
      const wanted = Number(size) + 1; // a line feed follows
      let length = parts[0]?.length ?? 0;
      while (length < wanted) {
        const chunk = await more();
        parts.push(chunk);
        length += chunk.length;
      }
      const all = Buffer.concat(parts);
      rest = all.subarray(wanted);
      return all.subarray(0, wanted - 1);
    },
    close: () => void child.kill("SIGKILL"),
  };
}

/** Starts git on a store. */
export function startGit(store: string, args: readonly string[], { index, signal }: GitRun = {}) {
  requireGit();
  const env = {
    HOME: store,
    LC_ALL: "C",
    GIT_DIR: store,
    ...OWN_CONFIGURATION_ONLY,
    GIT_NO_REPLACE_OBJECTS: "1",
    ...(index !== undefined && { GIT_INDEX_FILE: index }),
  };
  return startProgram(["git", ...args], {
    cwd: store,
    env,
    isBare: true,
    stdio: "pipe",
    killSignal: "SIGKILL",
    ...(signal !== undefined && { signal }),
  });
}

/** @throws UndoOff when git is not installed where no tool can write. */
export function requireGit(): void {
  try {
    findProgram("git");
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error;
    const why = error.onlyIn === undefined ? "git is not installed. Install it" : `${error.message},`;
    throw new UndoOff(`${why} to be able to undo what tools change`);
  }
}
