import { posix } from "node:path";
import type { Files } from "../../core/contract/backend.ts";
import type { FindQuery } from "../../core/contract/search.ts";
import { type GitIgnore, gitIgnore } from "../../core/files/git-ignore.ts";
import { pathOfBytes } from "../../core/util/path-order.ts";
import { type IgnoreRules, foldersAbove, ignoreRules, readRules } from "./ignore-rules.ts";
import { type SearchPrograms, leavingOut, startIn } from "./programs.ts";
import { blocks, plainComplaints } from "./ripgrep.ts";
import WALK from "./walk.sh";

/** The content of a folder, relative to it, including ignored paths. */
export interface Walked {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly links: readonly string[];
  readonly rules: IgnoreRules;
  readonly complaints: string;
}

export interface WalkOptions {
  readonly programs: SearchPrograms;
  readonly files: Pick<Files, "open">;
  /** True: files are listed too. */
  readonly withFiles: boolean;
}

/** Bytes that are read of each `.gitignore` file, and of all of them together. */
const MOST_OF_ONE = 60_000;
const MOST_OF_ALL = 4 * 1024 * 1024;

/**
 * Walks a folder with find, since ripgrep lists neither folders nor links, and reads the `.gitignore` files. This takes
 * one program, so one round trip. A folder whose name is a line of the top folder's `.gitignore` is not entered, unless
 * another `.gitignore` may include that name again.
 */
export async function walk(query: FindQuery, options: WalkOptions): Promise<Walked> {
  const { path } = query;
  if (query.ignored === true) return { ...(await found(query, options, "all")), rules: ignoreRules(path, new Map()) };
  const above = readRules(foldersAbove(path, options.programs.base.workDir), options.files);
  let seen = await found(query, options, "prune");
  const names = seen.prunedNames;
  if ([...seen.rules.values()].some(({ mayTakeBack }) => names.some(mayTakeBack)))
    seen = await found(query, options, "all");
  return { ...seen, rules: ignoreRules(path, new Map([...(await above), ...seen.rules])) };
}

interface Seen extends Omit<Walked, "rules"> {
  readonly rules: ReadonlyMap<string, GitIgnore>;
  readonly prunedNames: readonly string[];
}

async function found(query: FindQuery, { programs, withFiles }: WalkOptions, mode: "prune" | "all"): Promise<Seen> {
  const { path, signal = new AbortController().signal } = query;
  const words = [mode, withFiles ? "-print0 -print0 -print0" : "", ...leavingOut(query)];
  const searching = await startIn(programs, path, `most=${MOST_OF_ONE} most_of_all=${MOST_OF_ALL}\n${WALK}`, {
    words,
    signal,
  });
  const times = new Map<string, number>();
  const read: string[] = [];
  let isListed = false;
  for await (const block of blocks(searching.process, 0, signal)) {
    for (const field of block.toString("latin1").split("\0")) {
      if (isListed) read.push(pathOfBytes(field));
      else if (field === "") isListed = true;
      else times.set(field, (times.get(field) ?? 0) + 1);
    }
  }
  signal.throwIfAborted();
  const written = (count: number) =>
    [...times].flatMap(([name, many]) => (many === count ? [pathOfBytes(name).slice(2)] : []));
  const rules = new Map<string, GitIgnore>();
  let own = "";
  for (let at = 0; at + 1 < read.length; at += 2) {
    const [name = "", text = ""] = read.slice(at, at + 2);
    if (name === "./.gitignore") own = text;
    rules.set(posix.join(path, posix.dirname(name)), await gitIgnore(text));
  }
  return {
    files: written(3),
    folders: written(1),
    links: written(2),
    rules,
    prunedNames: mode === "all" ? [] : own.split("\n").flatMap((line) => /^(\w[\w.-]*)\/?$/.exec(line)?.[1] ?? []),
    complaints: await plainComplaints(searching, path, programs),
  };
}
