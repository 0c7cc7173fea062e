import { posix } from "node:path";
import type { Command, Process } from "../../core/contract/backend.ts";
import { NotReal, ToolFailure } from "../../core/contract/failure.ts";
import type { FindQuery } from "../../core/contract/search.ts";
import type { Base } from "../../core/util/paths.ts";
import GO_THERE from "./go-there.sh";

/** What a backend provides for searching. The rest is the same on all backends. */
export interface SearchPrograms {
  /** The target's name in sentences: "deploy@host". */
  readonly place: string;
  readonly base: Base;
  /** True: starting or stopping a program takes a round trip. Default: false. */
  readonly isFar?: boolean;
  /** Resolves to the path of ripgrep on the target; `undefined` if the target has no ripgrep. */
  ripgrep(): Promise<string | undefined>;
  /** Starts one of Handrail's programs, which starts no others: split streams, and without the user's environment. */
  start(command: Pick<Command, "argv" | "stdin" | "signal">): Promise<Process>;
}

/** A program that runs in the folder that is searched. */
export interface Searching {
  readonly process: Process;
  /** The real path of a name in its output. */
  absolute(name: string): string;
}

/** The exit code of go-there.sh if the path is no longer a folder or regular file. No search program uses it. */
const NOT_SEARCHED = 66;

/** Starts a script in the folder `path`, or beside the file `path`, with the words as its arguments. */
export async function startIn(
  { start }: SearchPrograms,
  path: string,
  script: string,
  { words, signal }: { readonly words: readonly string[]; readonly signal: AbortSignal | undefined },
): Promise<Searching> {
  const process = await start({
    argv: ["sh", "-c", `${GO_THERE}${script}`, "sh", path, ...words],
    ...(signal !== undefined && { signal }),
  });
  return {
    process,
    absolute: (name) => (name.startsWith("././") ? path : posix.join(path, name)),
  };
}

/** Waits for a program's end. @throws ToolFailure when it did not end, or the path cannot be searched. */
export async function untilEnded({ exit }: Process, path: string): Promise<void> {
  const how = await exit;
  if (how.how === "exited" && how.code === NOT_SEARCHED)
    throw new NotReal(`This is neither a file nor a folder: ${path}`);
  if (how.how === "signaled") throw new ToolFailure(`the search was ended by ${how.signal}`, { hint: "Try again." });
  if (how.how === "lost") throw new ToolFailure(`the search did not finish: ${how.reason}`, { hint: "Try again." });
}

/** Converts paths inside `path` to relative paths. Omits other paths. */
export function below(path: string, except: readonly string[] = []): readonly string[] {
  return except.map((each) => posix.relative(path, each)).filter((each) => each !== "" && !each.startsWith(".."));
}

/** Returns find expressions that exclude `.git`, unless `git` is true, and the excepted paths. */
export function leavingOut({ path, git = false, except }: Pick<FindQuery, "path" | "git" | "except">): string[] {
  const escaped = below(path, except).map((each) => `./${each.replace(/[\\*?[\]]/g, String.raw`\$&`)}`);
  return [
    ...(git ? [] : ["-name", ".git", "-prune", "-o"]),
    ...escaped.flatMap((each) => ["-path", each, "-prune", "-o"]),
  ];
}
