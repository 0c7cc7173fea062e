import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend, Command, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { quoteWord } from "../../core/util/quote.ts";
import { TOOLCHAINS, UNATTENDED } from "../local/environment.ts";
import { type Facts, askFacts } from "./facts.ts";
import FILES from "./files.sh";
import { remoteFiles } from "./files.ts";
import PATHS from "./path.sh";
import PROCESSES from "./processes.sh";
import READY from "./ready.sh";
import { type Processes, createProcesses } from "./processes.ts";
import type { Transport } from "./transport.ts";
import type { StartedContained } from "./run.ts";
import { remoteSearch } from "./search.ts";
import { type Shells, openShells } from "./shells.ts";

export interface RemoteOptions {
  /** A folder on the remote host; may begin with `~/`. Default: the folder in which a login begins. */
  readonly workDir?: string;
  /** Folder on this machine for large command output. Default: a folder of this user in the temporary folder. */
  readonly outputFolder?: string;
  /** Backends for which this word is the same share their detached processes. Default: "library". */
  readonly detachedOwner?: string;
  /** Remote variables that commands get although their names look like those of secrets. Default: none. */
  readonly passEnv?: readonly string[];
  /** Milliseconds before each attempt to open a lost connection again. Default: 0, 500, 1,000, 2,000, 4,000, 8,000. */
  readonly backOffMs?: readonly number[];
}

/** The shells behind a remote backend, for what is built on it. */
export interface RemoteHost extends Pick<Shells, "ask" | "askAside"> {
  readonly facts: Facts;
  /** Its name in sentences: "deploy@host". */
  readonly place: string;
  /** As `Backend.spawn`, for a program that contains another one. @throws StaleView */
  start(command: Command, contained?: StartedContained): Promise<Process>;
  /** Opens a shell for the next command. Never rejects. */
  warm(): Promise<void>;
}

const hosts = new WeakMap<Backend, RemoteHost>();

/** The shells behind a backend; `undefined` if it is not reached by shells. */
export function remoteHostOf(backend: Backend): RemoteHost | undefined {
  return hosts.get(backend);
}

/**
 * Opens a remote system as a backend. POSIX shells that stay open do all work. Closes the transport on failure, and
 * with the backend.
 *
 * @throws ToolFailure when the system cannot be reached, or the working directory does not exist.
 */
export async function remote(transport: Transport, options: RemoteOptions = {}): Promise<Backend> {
  const { outputFolder = join(tmpdir(), `handrail-${process.getuid?.() ?? ""}`), passEnv = [] } = options;
  const { detachedOwner = "library", backOffMs } = options;
  const notices: string[] = [];
  let facts: Facts | undefined;
  let processes: Processes | undefined;
  let lostAt: number | undefined;

  const shells = await openShells({
    transport,
    preamble: () => [PATHS, FILES, READY, PROCESSES, ...(facts === undefined ? [] : [environmentOf(facts)])].join("\n"),
    ...(backOffMs !== undefined && { backOffMs }),
    lost: () => (lostAt ??= Date.now()),
    async reopened(first) {
      await processes?.reopened(first);
      const seconds = Math.max(1, Math.round((Date.now() - (lostAt ?? Date.now())) / 1_000));
      lostAt = undefined;
      notices.push(`The connection to ${transport.place} was lost, and was reopened ${seconds} s later.`);
    },
  });
  try {
    // from the first shell: no command runs in it, so it may have the whole environment
    facts = await askFacts(shells, passEnv);
    const { home, secrets } = facts;
    const workDir = await workDirAt(options.workDir, { shells, facts });
    const files = remoteFiles({ shells, facts, base: { workDir, home } });
    processes = createProcesses({ shells, facts, transport, outputFolder, detachedOwner });
    const { start, warm, detached, close } = processes;
    /** Resolves a command's folder. Real paths are kept; they are checked when the command starts. */
    const cwdOf = async ({ cwd = workDir, isRealCwd = false }: Command) =>
      cwd === workDir || isRealCwd ? cwd : files.realPath(cwd);
    const spawn = async (command: Command): Promise<Process> => start(command, { cwd: await cwdOf(command) });
    const searching = remoteSearch({
      shells,
      files,
      facts,
      place: transport.place,
      base: { workDir, home },
      start: (command) => start({ streams: "split", ...command }, { cwd: "/" }),
      outputFolder,
    });
    const backend: Backend = {
      name: transport.name,
      workDir,
      home,
      isFar: true,
      access: transport.access,
      shell: facts.programs.has("bash") ? "bash" : "sh",
      files,
      spawn,
      search: searching.search,
      find: searching.find,
      detached,
      lacks: (name) => (secrets.includes(name) ? "withheld" : TOOLCHAINS.has(name) ? "missing" : undefined),
      notices: () => notices.splice(0),
      async close() {
        await close();
        await shells.close();
      },
    };
    const starting: RemoteHost["start"] = async (command, contained) =>
      start(command, { cwd: await cwdOf(command), ...(contained !== undefined && { contained }) });
    const { ask, askAside } = shells;
    hosts.set(backend, { facts, place: transport.place, ask, askAside, start: starting, warm });
    return backend;
  } catch (error) {
    await shells.close();
    throw error;
  }
}

async function workDirAt(
  wanted: string | undefined,
  { shells, facts }: { shells: Shells; facts: Facts },
): Promise<string> {
  if (wanted === undefined) return facts.folder;
  const base = { workDir: facts.folder, home: facts.home };
  const info = await remoteFiles({ shells, facts, base }).stat(wanted);
  if (info === undefined) throw new ToolFailure(`The working directory does not exist on the remote host: ${wanted}`);
  if (info.kind !== "folder")
    throw new ToolFailure(`The working directory on the remote host is not a folder: ${wanted}`);
  return info.path;
}

/** Code that runs first in each shell for commands: no variables that look like secrets, no pagers or prompts. */
function environmentOf({ secrets, path }: Facts): string {
  const unset = secrets.map((name) => `unset ${name} 2>/dev/null`);
  const set = Object.entries({ ...UNATTENDED, PATH: path.join(":") }).map(
    ([name, value]) => `${name}=${quoteWord(value)}; export ${name}`,
  );
  return [...unset, ...set].join("\n");
}
