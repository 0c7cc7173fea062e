import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Backend, Command, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { quoteWord } from "../../util/shell.ts";
import { UNATTENDED } from "../local/environment.ts";
import { type Facts, askFacts } from "./facts.ts";
import { FILE_FUNCTIONS } from "./files-script.ts";
import { remoteFiles } from "./files.ts";
import { PROCESS_FUNCTIONS } from "./processes-script.ts";
import { type Processes, createProcesses } from "./processes.ts";
import type { Transport } from "./transport.ts";
import { remoteSearch } from "./search.ts";
import { type Shells, openShells } from "./shells.ts";

export interface RemoteOptions {
  /** A folder there; may begin with `~/`. Default: the folder in which a login begins. */
  readonly workDir?: string;
  /** Where output of commands goes *here* that is too big for memory. Default: a folder of this user's in the temporary folder. */
  readonly outputFolder?: string;
  /** Backends with the same word have their detached processes in common. Default "library". */
  readonly detachedOwner?: string;
  /** Variables there that commands get although their names look like those of secrets. */
  readonly passEnv?: readonly string[];
  /** Milliseconds before each attempt to open a lost connection again. Default: 0, 500, 1,000, 2,000, 4,000, 8,000. */
  readonly backOffMs?: readonly number[];
}

/**
 * Another system as a backend: everything is done there by POSIX shells that are held open.
 *
 * @throws ToolFailure when it cannot be reached, or the working directory is not there.
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
    preamble: () =>
      [FILE_FUNCTIONS, PROCESS_FUNCTIONS, ...(facts === undefined ? [] : [environmentOf(facts)])].join("\n"),
    ...(backOffMs !== undefined && { backOffMs }),
    lost: () => (lostAt ??= Date.now()),
    async reopened(first) {
      await processes?.reopened(first);
      const seconds = Math.max(1, Math.round((Date.now() - (lostAt ?? Date.now())) / 1_000));
      lostAt = undefined;
      notices.push(`The connection to ${transport.place} was lost and was opened again ${seconds} s later.`);
    },
  });
  try {
    facts = await askFacts(shells, passEnv); // of the first shell: no command runs in it, so it may have the whole environment
    const { home } = facts;
    const workDir = await workDirAt(options.workDir, { shells, facts });
    const files = remoteFiles({ shells, facts, base: { workDir, home } });
    processes = createProcesses({ shells, facts, transport, outputFolder, detachedOwner });
    const { start, detached, close } = processes;
    /** What is real is held to that where the command is started; the working directory is. */
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
    return {
      name: transport.name,
      workDir,
      home,
      access: transport.access,
      shell: facts.programs.has("bash") ? "bash" : "sh",
      files,
      spawn,
      search: searching.search,
      find: searching.find,
      detached,
      notices: () => notices.splice(0),
      async close() {
        await close();
        await shells.close();
      },
    };
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
  if (info === undefined) throw new ToolFailure(`The working directory does not exist there: ${wanted}`);
  if (info.kind !== "folder") throw new ToolFailure(`The working directory is not a folder there: ${wanted}`);
  return info.path;
}

/** What every shell that runs commands does first: variables that look like secrets go, and nobody sits in front of it. */
function environmentOf({ secrets, path }: Facts): string {
  const unset = secrets.map((name) => `unset ${name} 2>/dev/null`);
  const set = Object.entries({ ...UNATTENDED, PATH: path.join(":") }).map(
    ([name, value]) => `${name}=${quoteWord(value)}; export ${name}`,
  );
  return [...unset, ...set].join("\n");
}
