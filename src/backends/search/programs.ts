import { posix } from "node:path";
import type { Command, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { Base } from "../../util/paths.ts";

/** What a backend gives for its search: the rest is the same on all of them. */
export interface SearchPrograms {
  /** As it stands in a sentence: "deploy@host". */
  readonly place: string;
  readonly base: Base;
  /** True: starting and stopping a program takes a round trip. Default false. */
  readonly isFar?: boolean;
  /** The ripgrep there; `undefined` where there is none. */
  ripgrep(): Promise<string | undefined>;
  /** Starts a program of ours that starts no others, its streams split, with nothing of the user's in its environment. */
  start(command: Pick<Command, "argv" | "stdin" | "signal">): Promise<Process>;
}

/** A program that runs in the folder that is searched. */
export interface Searching {
  readonly process: Process;
  /** The real path of a name that it tells. */
  absolute(name: string): string;
}

/**
 * Goes to the real folder $1, where $n is "."; or to the folder of the regular file $1, where $n is "././NAME". A link that was put in the way
 * meanwhile is not followed. What is behind it has the other words as $@.
 */
const GO_THERE = `case $1 in */*/*) d=\${1%/*} ;; *) d=/ ;; esac
n=. LC_ALL=C; export LC_ALL
if cd -P "$1" 2>/dev/null; then [ "$PWD" = "$1" ] || exit 66
else n=././\${1##*/}; cd -P "$d" 2>/dev/null && [ "$PWD" = "$d" ] && [ -f "$n" ] && [ ! -L "$n" ] || exit 66; fi
shift
`;

/** The exit code of the script where the path is neither a folder nor a regular file any more; no program that searches has it. */
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

/** Waits for the end of a program. @throws ToolFailure when it did not come to its end, and where the path cannot be searched. */
export async function untilEnded({ exit }: Process, path: string): Promise<void> {
  const how = await exit;
  if (how.how === "exited" && how.code === NOT_SEARCHED)
    throw new ToolFailure(`This is neither a file nor a folder: ${path}`);
  if (how.how === "signaled")
    throw new ToolFailure(`the search was ended from outside (${how.signal})`, { hint: "Try again." });
  if (how.how === "lost")
    throw new ToolFailure(`the search did not come to its end: ${how.reason}`, { hint: "Try again." });
}

/** The paths relative to `path`, which holds them. */
export function below(path: string, except: readonly string[] = []): readonly string[] {
  return except.map((each) => posix.relative(path, each)).filter((each) => each !== "" && !each.startsWith(".."));
}
