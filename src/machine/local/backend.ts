import { randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Backend, Command, DetachedProcesses, Process, PortAddress } from "../../core/contract/backend.ts";
import type { Env } from "../../core/contract/effect.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { JobCommand } from "../../core/contract/job.ts";
import type { JobHandle } from "../process/folder.ts";
import { commandEnvironment, lacksVariable, programFolders } from "./environment.ts";
import { realCwd } from "../process/command.ts";
import { createSearching } from "../search/searching.ts";
import { ripgrepPath } from "./ripgrep.ts";
import { localFiles } from "./files.ts";
import type { SpawnOptions } from "./spawn.ts";
import { later } from "../../core/util/promises.ts";
import { closedFailure, takenOver } from "../process/run.ts";

export interface LocalOptions {
  /** Default: the current folder. */
  readonly workDir?: string;
  /** The environment, of which commands get the harmless variables and `passEnv`. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** The home folder. Default: that of `env`, or of the account. */
  readonly home?: string;
  /** Folder for command output that does not fit in memory. */
  readonly outputFolder: string;
  /** Contains the folders of jobs. Backends that share it share detached processes. Default: `outputFolder/jobs`. */
  readonly jobFolder?: string;
  /** Variables of `env` that commands get in addition to the harmless variables. Default: none. */
  readonly passEnv?: readonly string[];
  /** How long a sorted search may run before a faster, unsorted one replaces it. Milliseconds; default 10. */
  readonly searchPatienceMs?: number;
}

/**
 * Opens this machine as a backend.
 *
 * @throws ToolFailure when the working directory does not exist.
 */
export async function local({
  workDir = ".",
  env: own = process.env,
  home = own["HOME"] || homedir(),
  outputFolder,
  jobFolder = join(outputFolder, "jobs"),
  passEnv = [],
  searchPatienceMs,
}: LocalOptions): Promise<Backend> {
  const base = { workDir: await folderAt(resolve(workDir)), home };
  const files = localFiles(base);
  const running = new Set<Process>();
  /** The jobs with a lease. */
  const jobs = new Set<JobHandle>();
  /** The beginning of the marks of all processes that end with this backend. */
  const lease = `:${randomUUID()}.`;
  let started = 0;
  let closed = false;

  /** Makes the process end with this backend. */
  const owned = async (child: Process): Promise<Process> => {
    running.add(child);
    void child.exit.then(() => running.delete(child));
    if (closed) await child.kill(); // the backend was closed in the meantime
    return child;
  };
  const start = async (command: Command, options: Omit<SpawnOptions, "outputFolder">): Promise<Process> => {
    if (closed) throw closedFailure();
    const { spawnLocal } = await processes();
    return owned(await spawnLocal(command, { ...options, outputFolder }));
  };
  const environmentOf = ({ env, passEnv: isPassed }: Pick<Command, "env" | "passEnv">) =>
    commandEnvironment(own, isPassed === false ? [] : passEnv, { HOME: home, ...env });
  const startJob = async (
    command: JobCommand,
    options: { readonly cwd: string; readonly env: Env },
  ): Promise<Process> => {
    if (closed) throw closedFailure();
    const job = await (await processes()).startJob(command, { ...options, folder: jobFolder, lease });
    if (command.lifetime === "detached") return job.process;
    jobs.add(job);
    return owned({ ...job.process, reachPort: (port) => reachPort(job.process, port) });
  };

  /** Starts one of Handrail's own programs, without the user's environment and its ripgrep configuration. */
  const startOwn = (command: Command) =>
    start({ streams: "split", ...command }, { cwd: base.workDir, env: commandEnvironment({}, [], { HOME: home }) });
  const searching = createSearching({
    programs: { place: "this machine", base, ripgrep: async () => ripgrepPath(), start: startOwn },
    files,
    ...(searchPatienceMs !== undefined && { patienceMs: searchPatienceMs }),
    startHere: async (args, signal) =>
      startOwn({ argv: [ripgrepPath(), ...args], stdin: "pipe", ...(signal !== undefined && { signal }) }),
  });

  return {
    name: "local",
    ...base,
    programFolders: programFolders(own),
    files,
    detached: detachedIn(jobFolder),
    lacks: (name) => lacksVariable(own, passEnv, name),
    async spawn(command) {
      const cwd = await realCwd(command, files);
      const env = environmentOf(command);
      const { lifetime = "call" } = command;
      started++;
      if (lifetime !== "call") return startJob({ ...command, lifetime }, { cwd, env });
      return start(command, { cwd, env, mark: `${lease}${started}:`, lease });
    },
    async standby(program) {
      const work = later();
      const env = commandEnvironment({}, [], { ...program.env });
      started++;
      const waiting = await start(program, {
        cwd: base.workDir,
        env,
        mark: `${lease}${started}:`,
        lease,
        idle: work.promise,
      });
      return {
        waiting,
        environment: environmentOf,
        become(command) {
          work.resolve();
          return takenOver(waiting, command);
        },
      };
    },
    search: searching.search,
    find: searching.find,
    async close() {
      closed = true;
      await Promise.all([...running].map((child) => child.kill()));
      if (started === 0) return;
      // Background children that outlived their commands.
      const { spawner } = await processes();
      const service = await spawner().catch(() => undefined);
      await service?.sweep({ mark: lease });
      await Promise.all([...jobs].map((job) => job.remove()));
    },
  };
}

/** Loads the code that starts processes, at the first start: many toolkits start none. */
const processes = () => import("./processes.ts");

function detachedIn(folder: string): DetachedProcesses {
  return {
    list: async () => (await processes()).detachedIn(folder).list(),
    remove: async (id) => (await processes()).detachedIn(folder).remove(id),
  };
}

async function folderAt(path: string): Promise<string> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) throw new ToolFailure(`The working directory does not exist: ${path}`);
  if (!info.isDirectory()) throw new ToolFailure(`The working directory is not a folder: ${path}`);
  return realpath(path);
}

async function reachPort({ id }: Pick<Process, "id">, port: number): Promise<PortAddress | undefined> {
  const { listenersOf } = await import("./listeners.ts");
  return listenersOf(Number(id)).find((each) => each.port === port);
}
