import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Backend, Command, Files, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { shared } from "../../core/util/promises.ts";
import { quoteWords } from "../../core/util/quote.ts";
import { commandEnvironment } from "../local/environment.ts";
import { ripgrepPath } from "../local/ripgrep.ts";
import { createSearching } from "../search/searching.ts";
import type { Facts } from "./facts.ts";
import RIPGREP from "./ripgrep.sh";
import type { Shells } from "./shells.ts";

/** The program that searches a remote host. */
export type SearchWay = "its own ripgrep" | "our ripgrep" | "grep and find";

export interface RemoteSearchOptions {
  readonly shells: Pick<Shells, "ask" | "askAside">;
  readonly files: Pick<Files, "open" | "stat">;
  readonly facts: Facts;
  readonly place: string;
  readonly base: { readonly workDir: string; readonly home: string };
  /** Starts a program on the remote host, in "/". */
  readonly start: (command: Command) => Promise<Process>;
  readonly outputFolder: string;
}

const ways = new WeakMap<Backend["search"], () => Promise<SearchWay>>();

/** The program with which a remote backend searches; `undefined` for other backends. Rejects without a connection. */
export async function searchWay({ search }: Pick<Backend, "search">): Promise<SearchWay | undefined> {
  return ways.get(search)?.();
}

/** Searches a remote host: with its own ripgrep, with ours if that runs there, or with grep and find. */
export function remoteSearch(options: RemoteSearchOptions): Pick<Backend, "search" | "find"> {
  const { shells, files, facts, place, base, start, outputFolder } = options;
  const look = async (): Promise<{ readonly way: SearchWay; readonly ripgrep: string | undefined }> => {
    const { status } = await shells.ask(`${RIPGREP}hr_ripgrep_probe`);
    if (status === 0) return { way: "its own ripgrep", ripgrep: "rg" };
    const ours = await putRipgrep(shells, facts);
    if (ours !== undefined) return { way: "our ripgrep", ripgrep: ours };
    const missing = (["find", "grep"] as const).filter((program) => !facts.programs.has(program));
    if (missing.length === 0) return { way: "grep and find", ripgrep: undefined };
    throw new ToolFailure(`${place} cannot be searched: it has neither ripgrep nor ${missing.join(" nor ")}`, {
      hint: "Install ripgrep on it (apt install ripgrep, apk add ripgrep).",
    });
  };
  const looked = shared(look);
  const searching = createSearching({
    files,
    programs: { place, base, isFar: true, ripgrep: async () => (await looked()).ripgrep, start },
    async startHere(args, signal) {
      const { spawnLocal } = await import("../local/spawn.ts");
      const command = { argv: [ripgrepPath(), ...args], stdin: "pipe", streams: "split" } as const;
      return spawnLocal(
        { ...command, ...(signal !== undefined && { signal }) },
        { cwd: "/", env: commandEnvironment({}, [], {}), outputFolder },
      );
    },
  });
  ways.set(searching.search, async () => (await looked()).way);
  return searching;
}

/** Names of `process.arch` in uname(1). */
const MACHINES: { readonly [architecture: string]: string } = { x64: "x86_64", arm64: "aarch64" };

/**
 * Copies our ripgrep to a remote host of the same kind, under its hash in the user's cache folder, unless it is there.
 * Resolves to its path; `undefined` if the kinds differ, the copy fails, or it does not run there.
 */
export async function putRipgrep(
  shells: Pick<Shells, "ask" | "askAside">,
  { system, machine, home, programs }: Facts,
): Promise<string | undefined> {
  if (process.platform !== "linux" || system !== "Linux" || MACHINES[process.arch] !== machine) return undefined;
  const bytes = await ourRipgrep();
  if (bytes === undefined || home === "/") return undefined;
  const hash = createHash("sha256").update(bytes).digest("hex");
  const { status, out } = await shells.ask(`${RIPGREP}hr_ripgrep_look ${quoteWords([home, hash])}`);
  const path = out.toString("utf8");
  if (status === 0) return path;
  if (!path.startsWith("/")) return undefined;
  const isZipped = programs.has("gzip");
  const input = isZipped ? await promisify(gzip)(bytes) : bytes;
  const unzip = isZipped ? "gzip -dc" : "cat";
  const part = path.replace(/[^/]*$/, `.rg-${randomBytes(8).toString("hex")}.part`);
  const words = quoteWords([path, hash, String(input.length), unzip, part]);
  const taken = await shells.askAside(`${RIPGREP}hr_ripgrep_take ${words}`, { input });
  return taken.status === 0 ? path : undefined;
}

/** The ripgrep of the package. It may need libraries that the remote host lacks, so it is tested there. */
async function ourRipgrep(): Promise<Buffer | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep"); // throws if it is not installed
    return await readFile(rgPath);
  } catch {
    return undefined;
  }
}
