import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Backend, Command, Files, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord } from "../../util/shell.ts";
import { commandEnvironment } from "../local/environment.ts";
import { ripgrepPath } from "../local/ripgrep.ts";
import { createSearching } from "../search/searching.ts";
import type { Facts } from "./facts.ts";
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

/** How the machines that Node names are called by uname(1). */
const MACHINES: { readonly [architecture: string]: string } = { x64: "x86_64", arm64: "aarch64" };

/**
 * Puts the ripgrep of this machine on a remote host with the same system and kind of machine, under its hash in the user's cache folder, unless it is there. Resolves to its path;
 * `undefined` where the kinds differ, it cannot be put there, or it does not run.
 */
export async function putRipgrep(
  shells: Pick<Shells, "ask" | "askAside">,
  { system, machine, home, programs }: Facts,
): Promise<string | undefined> {
  if (process.platform !== "linux" || system !== "Linux" || MACHINES[process.arch] !== machine) return undefined;
  const bytes = await ourRipgrep();
  if (bytes === undefined || home === "/") return undefined;
  const hash = createHash("sha256").update(bytes).digest("hex");
  const { status, out } = await shells.ask(LOOK(home, hash));
  const path = out.toString("utf8");
  if (status === 0) return path;
  if (!path.startsWith("/")) return undefined;
  const isZipped = programs.has("gzip");
  const input = isZipped ? await promisify(gzip)(bytes) : bytes;
  const unzip = isZipped ? "gzip -dc" : "cat";
  const taken = await shells.askAside(TAKE({ path, hash, length: input.length, unzip }), { input });
  return taken.status === 0 ? path : undefined;
}

/** The binary in the package that ships it. It may need libraries that the other host lacks: it is tried there before it is used. */
async function ourRipgrep(): Promise<Buffer | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep"); // throws where it is not installed
    return await readFile(rgPath);
  } catch {
    return undefined;
  }
}

/** Writes the path; ends with 0 when it is there and runs. */
const LOOK = (home: string, hash: string) => `
case \${XDG_CACHE_HOME-} in /*) folder=$XDG_CACHE_HOME/handrail ;; *) folder=${quoteWord(home)}/.cache/handrail ;; esac
(umask 077; mkdir -p "$folder") 2>/dev/null && [ -O "$folder" ] || exit 1
find "$folder" -name '.rg-*.part' -mtime +1 -exec rm -f {} + >/dev/null 2>&1
printf %s "$folder/rg-${hash}"
"$folder/rg-${hash}" --version >/dev/null 2>&1`;

/** Whatever goes wrong, all of stdin is read: what was left of it would be run. What did not arrive whole is not used. */
const TAKE = (file: {
  readonly path: string;
  readonly hash: string;
  readonly length: number;
  readonly unzip: string;
}) => `
path=${quoteWord(file.path)} part=${quoteWord(file.path.replace(/[^/]*$/, `.rg-${randomBytes(8).toString("hex")}.part`))}
umask 077
hr_file_take ${file.length} | { ${file.unzip} >"$part" || cat >/dev/null; } 2>/dev/null
sum=$( (sha256sum <"$part") 2>/dev/null)
[ "\${sum%% *}" = ${file.hash} ] && chmod 700 "$part" && "$part" --version >/dev/null 2>&1 && mv -f "$part" "$path" && exit 0
rm -f "$part"
exit 1`;
