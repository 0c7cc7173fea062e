import { randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { Backend, Command, DetachedProcesses, Process } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { commandEnvironment, programFolders } from "./environment.ts";
import { realCwd } from "../working-folder.ts";
import { createSearching } from "../search/searching.ts";
import { ripgrepPath } from "./ripgrep.ts";
import { localFiles } from "./files.ts";
import type { SpawnOptions } from "./spawn.ts";

export interface LocalOptions {
  /** Default: the current folder. */
  readonly workDir?: string;
  /** Default: the user's. */
  readonly home?: string;
  /** Where output of commands goes that is too big for memory. */
  readonly outputFolder: string;
  /** Where what is to be known of detached processes is kept. Without it there are none. */
  readonly detachedFolder?: string;
  /** Variables of our environment that commands get beside the harmless ones. */
  readonly passEnv?: readonly string[];
  /** How long a search for lines in the order of paths may take before a faster one is begun. Milliseconds, default 10. What is found is the same. */
  readonly searchPatienceMs?: number;
}

/**
 * This machine.
 *
 * @throws ToolFailure when the working directory is not there.
 */
export async function local({
  workDir = ".",
  home = homedir(),
  outputFolder,
  detachedFolder,
  passEnv = [],
  searchPatienceMs,
}: LocalOptions): Promise<Backend> {
  const base = { workDir: await folderAt(resolve(workDir)), home };
  const files = localFiles(base);
  const running = new Set<Process>();
  /** Stands in the mark of everything that is started here, and nowhere else. */
  const family = `:${randomUUID()}.`;
  let started = 0;
  let closed = false;

  const start = async (command: Command, options: Omit<SpawnOptions, "outputFolder">): Promise<Process> => {
    if (closed) throw closedFailure();
    const { spawnLocal } = await processes();
    const child = await spawnLocal(command, { ...options, outputFolder });
    running.add(child);
    void child.exit.then(() => running.delete(child));
    if (closed) await child.kill(); // it was closed while this started
    return child;
  };

  const startDetached = async (command: Command, cwd: string, env: Env): Promise<Process> => {
    if (closed) throw closedFailure();
    if (detachedFolder === undefined) {
      throw new ToolFailure("this backend keeps no detached processes: it was made without a folder for them");
    }
    const { spawnDetached } = await processes();
    return spawnDetached(command, { folder: detachedFolder, cwd, env });
  };

  /** Programs of ours get nothing of the user's, not their ripgrep configuration either. */
  const startOwn = (command: Command) =>
    start({ streams: "split", ...command }, { cwd: base.workDir, env: commandEnvironment({}, [], { HOME: home }) });
  const searching = createSearching({
    programs: { place: "this machine", base, ripgrep: ripgrepPath, start: startOwn },
    files,
    ...(searchPatienceMs !== undefined && { patienceMs: searchPatienceMs }),
    startHere: async (args, signal) =>
      startOwn({ argv: [await ripgrepPath(), ...args], stdin: "pipe", ...(signal !== undefined && { signal }) }),
  });

  return {
    name: "local",
    ...base,
    programFolders: programFolders(process.env),
    files,
    ...(detachedFolder !== undefined && { detached: detachedIn(detachedFolder) }),
    async spawn(command) {
      const cwd = await realCwd(command, files);
      const env = commandEnvironment(process.env, passEnv, { HOME: home, ...command.env });
      if (command.detached !== undefined) return startDetached(command, cwd, env);
      return start(command, {
        cwd,
        env,
        mark: { family, process: String(++started) },
      });
    },
    search: searching.search,
    find: searching.find,
    async close() {
      closed = true;
      await Promise.all([...running].map((child) => child.kill()));
      if (started === 0) return;
      // Children in the background of commands that have long ended.
      const { spawner } = await processes();
      const service = await spawner().catch(() => undefined);
      await service?.sweep({ mark: family });
    },
  };
}

/** What starts processes: loaded when the first is started, for many calls start none. */
const processes = () => import("./processes.ts");

function detachedIn(folder: string): DetachedProcesses {
  return {
    list: async () => (await processes()).detachedProcesses(folder).list(),
    remove: async (id) => (await processes()).detachedProcesses(folder).remove(id),
  };
}

function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed: nothing can be started on it any more");
}

async function folderAt(path: string): Promise<string> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) throw new ToolFailure(`The working directory does not exist: ${path}`);
  if (!info.isDirectory()) throw new ToolFailure(`The working directory is not a folder: ${path}`);
  return realpath(path);
}
