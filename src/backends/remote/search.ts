import type { Backend, Command, Files, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { commandEnvironment } from "../local/environment.ts";
import { ripgrepPath } from "../local/ripgrep.ts";
import { createSearching } from "../search/searching.ts";
import type { Facts } from "./facts.ts";
import { putRipgrep } from "./put-ripgrep.ts";
import type { Shells } from "./shells.ts";

/** What a remote host is searched with. */
export type SearchWay = "its own ripgrep" | "our ripgrep" | "grep and find";

export interface RemoteSearchOptions {
  readonly shells: Pick<Shells, "ask" | "askAside">;
  readonly files: Pick<Files, "open" | "stat">;
  readonly facts: Facts;
  readonly place: string;
  readonly base: { readonly workDir: string; readonly home: string };
  /** Starts a program of ours there, in "/". */
  readonly start: (command: Command) => Promise<Process>;
  readonly outputFolder: string;
}

const ways = new WeakMap<Backend["search"], () => Promise<SearchWay>>();

/** What a backend on a remote host searches with; `undefined` for other backends. Fails where there is no connection. */
export async function searchWay({ search }: Pick<Backend, "search">): Promise<SearchWay | undefined> {
  return ways.get(search)?.();
}

/**
 * Search on a remote host: with the ripgrep there, else with ours, which is put there where it can run, else with grep and find.
 */
export function remoteSearch({
  shells,
  files,
  facts,
  place,
  base,
  start,
  outputFolder,
}: RemoteSearchOptions): Pick<Backend, "search" | "find"> {
  let found: Promise<{ readonly way: SearchWay; readonly ripgrep: string | undefined }> | undefined;

  const look = async () => {
    const { status } = await shells.ask(PROBE);
    if (status === 0) return { way: "its own ripgrep", ripgrep: "rg" } as const;
    const ours = await putRipgrep(shells, facts);
    if (ours !== undefined) return { way: "our ripgrep", ripgrep: ours } as const;
    const missing = (["find", "grep"] as const).filter((program) => !facts.programs.has(program));
    if (missing.length === 0) return { way: "grep and find", ripgrep: undefined } as const;
    throw new ToolFailure(
      `nothing can be searched on ${place}: there is neither ripgrep nor ${missing.join(" nor ")}`,
      {
        hint: "Install ripgrep there (apt install ripgrep, apk add ripgrep).",
      },
    );
  };
  const looked = () => {
    found ??= look().catch((error: unknown) => {
      found = undefined; // the connection was lost: the next who asks tries again
      throw error;
    });
    return found;
  };
  const searching = createSearching({
    files,
    programs: { place, base, isFar: true, ripgrep: async () => (await looked()).ripgrep, start },
    async startHere(args, signal) {
      const { spawnLocal } = await import("../local/spawn.ts");
      const command = { argv: [await ripgrepPath(), ...args], stdin: "pipe", streams: "split" } as const;
      return spawnLocal(
        { ...command, ...(signal !== undefined && { signal }) },
        { cwd: "/", env: commandEnvironment({}, [], {}), outputFolder },
      );
    },
  });
  ways.set(searching.search, async () => (await looked()).way);
  return searching;
}

/** Whether ripgrep is there and has all options that it is given: 13.0.0 has them. */
const PROBE = `
always="--no-config --no-require-git --no-ignore-global --no-ignore-dot --color=never --null --hidden --glob=!.git --type-add=meant:*.x --type=meant"
set -f
rg $always --with-filename --line-number --no-heading --no-context-separator --max-columns=9 --max-columns-preview --ignore-case --crlf \\
  --context=1 --max-count=1 --sort=path --text --regexp=a - </dev/null >/dev/null 2>&1
[ $? = 1 ]`;
