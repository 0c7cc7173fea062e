import { posix } from "node:path";
import type { Files } from "../../contract/backend.ts";
import type { FindQuery } from "../../contract/search.ts";
import { type GitIgnore, gitIgnore } from "../../files/git-ignore.ts";
import { pathOfBytes } from "../../util/path-order.ts";
import { type IgnoreRules, foldersAbove, ignoreRules, readRules } from "./ignore-rules.ts";
import { type SearchPrograms, below, startIn } from "./programs.ts";
import { blocks, plainComplaints } from "./ripgrep.ts";

/** What is under a folder, relative to it, ignored or not. */
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

/** So much is read of each `.gitignore` file, and of all of them together. Bytes. */
const MOST_OF_ONE = 60_000;
const MOST_OF_ALL = 4 * 1024 * 1024;

/**
 * Walks a folder with find, since ripgrep lists neither folders nor links, and reads the `.gitignore` files on the way: one program, so one round trip. Folders whose name
 * stands alone on a line of the folder's own `.gitignore` are not entered, unless some `.gitignore` may take such a name back.
 */
export async function walk(query: FindQuery, options: WalkOptions): Promise<Walked> {
  const { path } = query;
  const above = readRules(foldersAbove(path, options.programs.base.workDir), options.files);
  let seen = await found(query, options, "prune");
  const names = seen.prunedNames;
  if ([...seen.rules.values()].some(({ mayTakeBack }) => names.some(mayTakeBack)))
    seen = await found(query, options, "all");
  return { ...seen, rules: ignoreRules(path, new Map([...(await above), ...seen.rules])) };
}

/**
 * How often a path is written tells what it is: no other form of output is known to every find. An empty path ends the list; then the rules come, each as path and content.
 * They wait in tail until find has ended. (busybox runs `-exec … +` only where it is in no parentheses.)
 */
const WALK = `
[ "$n" = . ] || exit 66
prune=$1 files=$2 names=
shift 2
set -f
if [ "$prune" = prune ] && [ -f .gitignore ]; then
  for name in $(head -c ${MOST_OF_ONE} .gitignore | sed -n 's/^\\([A-Za-z0-9_][A-Za-z0-9_.-]*\\)\\/\\{0,1\\}$/\\1/p'); do
    names="$names -name $name -prune -o"
  done
fi
{ { find . -mindepth 1 "$@" -type d '(' $names -print0 ')' -o -type l -print0 -print0 \\
  -o -type f ! -name .gitignore $files -o -type f $files -exec sh -c 'for each; do
    printf "%s\\0" "$each"; head -c ${MOST_OF_ONE} "$each" | tr -d "\\000"; printf "\\0"; done >&3' sh {} +
  printf '\\0' >&4
} 3>&1 >&4 4>&4 | tail -c ${MOST_OF_ALL} >&4; } 4>&1
`;

interface Seen extends Omit<Walked, "rules"> {
  readonly rules: ReadonlyMap<string, GitIgnore>;
  readonly prunedNames: readonly string[];
}

async function found(query: FindQuery, { programs, withFiles }: WalkOptions, mode: "prune" | "all"): Promise<Seen> {
  const { path, git = false, except, signal = new AbortController().signal } = query;
  const prunes = [
    ...(git ? [] : ["-name", ".git", "-prune", "-o"]),
    ...below(path, except).flatMap((each) => ["-path", `./${each.replace(/[\\*?[\]]/g, "\\$&")}`, "-prune", "-o"]),
  ];
  const words = [mode, withFiles ? "-print0 -print0 -print0" : "", ...prunes];
  const searching = await startIn(programs, path, WALK, { words, signal });
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
