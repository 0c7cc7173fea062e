import type { Backend, Command, Files, HelperOptions, Process } from "../../contract/backend.ts";
import { findArguments, ripgrepArguments } from "../helper-arguments.ts";
import type { Facts } from "./facts.ts";
import { ourRipgrepFor } from "./search/our-ripgrep.ts";
import { type FindFacts, type GrepFacts, probe, programMissing } from "./search/probe.ts";
import { putThere } from "./search/put-there.ts";
import { searchThere } from "./search/search.ts";
import { stoppedAtOnce } from "./search/stopped-at-once.ts";
import { findWith } from "./search/find-with.ts";
import type { Shells } from "./shells.ts";

export interface RemoteHelperOptions {
  readonly shells: Pick<Shells, "ask" | "askAside">;
  readonly files: Pick<Files, "open" | "stat">;
  readonly facts: Facts;
  /** As it stands in a sentence: "container web". */
  readonly place: string;
  /** As `Processes.start`. */
  readonly start: (command: Command, at: { readonly cwd: string; readonly own?: boolean }) => Promise<Process>;
  readonly workDir: string;
  readonly outputFolder: string;
}

/** What is searched with on another system. */
export type SearchWay = "ripgrep there" | "ripgrep put there" | "grep and find";

/** How there is searched on the backends that this module has made helpers for. */
const ways = new WeakMap<Backend["helper"], () => Promise<SearchWay>>();

/** What a backend on another system searches with; `undefined` for other backends. Fails where there is no connection. */
export async function searchWay({ helper }: Pick<Backend, "helper">): Promise<SearchWay | undefined> {
  return ways.get(helper)?.();
}

interface Way {
  readonly way: SearchWay;
  /** Where it is, for both ways with ripgrep. */
  readonly ripgrep: string;
  readonly grep: GrepFacts | undefined;
  readonly find: FindFacts | undefined;
}

/**
 * Programs that look at files of another system: the find there, and ripgrep. Where there is none, or one too old, ours is put there, once, if it runs there; otherwise
 * grep and find do its work.
 */
export function remoteHelper({
  shells,
  files,
  facts,
  place,
  start,
  workDir,
  outputFolder,
}: RemoteHelperOptions): Backend["helper"] {
  let found: Promise<Way> | undefined;

  const look = async (): Promise<Way> => {
    const { hasRipgrep, grep, find } = await probe(shells);
    if (hasRipgrep) return { way: "ripgrep there", ripgrep: "rg", grep, find };
    const ours = await ourRipgrepFor(facts);
    const path = ours && (await putThere(ours, shells, facts));
    if (path !== undefined) return { way: "ripgrep put there", ripgrep: path, grep, find };
    return { way: "grep and find", ripgrep: "", grep, find };
  };
  const way = (): Promise<Way> => {
    found ??= look().catch((error: unknown) => {
      found = undefined; // the connection was lost: the next who asks tries again
      throw error;
    });
    return found;
  };

  const run = (
    argv: Command["argv"],
    { stdin, signal, cwd }: { stdin: "closed" | "pipe"; signal?: AbortSignal | undefined; cwd: string },
  ) => start({ argv, streams: "split", stdin, ...(signal !== undefined && { signal }) }, { cwd, own: true });

  const helper: Backend["helper"] = async (program, args, options: HelperOptions) => {
    const { paths, except = [], signal } = options;
    const { way: by, ripgrep, grep, find } = await way();
    // ripgrep takes its globs from where it runs.
    const cwd = except.length === 0 ? workDir : "/";
    const stdin = paths.length === 0 ? "pipe" : "closed";
    if (program === "find") {
      if (find === undefined) throw programMissing("find", place, facts);
      return run(["find", ...findWith(find, paths, findArguments(args, paths, except))], {
        stdin: "closed",
        signal,
        cwd,
      });
    }
    if (by !== "grep and find")
      return stoppedAtOnce(
        await run([ripgrep, ...ripgrepArguments(args, paths, except)], { stdin, signal, cwd }),
        shells,
      );
    if (grep === undefined) throw programMissing("grep", place, facts);
    if (find === undefined) throw programMissing("find", place, facts);
    return searchThere(args, options, {
      grep,
      find,
      shells,
      files,
      place,
      outputFolder,
      start: (argv, input) => run(argv, { stdin: input, cwd: "/" }),
    });
  };
  ways.set(helper, async () => (await way()).way);
  return helper;
}
