import { randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { Backend, Command, Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { commandEnvironment } from "./environment.ts";
import { helperCommand } from "./helper.ts";
import { localFiles } from "./files.ts";
import { killLeftovers } from "./kill-tree.ts";
import { createPipes } from "./pipes.ts";
import { type SpawnOptions, spawnLocal } from "./spawn.ts";

export interface LocalOptions {
  /** Default: the current folder. */
  readonly workDir?: string;
  /** Default: the user's. */
  readonly home?: string;
  /** Where output of commands goes that is too big for memory. */
  readonly outputFolder: string;
  /** Variables of our environment that commands get beside the harmless ones. */
  readonly passEnv?: readonly string[];
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
  passEnv = [],
}: LocalOptions): Promise<Backend> {
  const base = { workDir: await folderAt(resolve(workDir)), home };
  const files = localFiles(base);
  const pipes = createPipes();
  const running = new Set<Process>();
  const id = randomUUID();
  let started = 0;
  let closed = false;

  const start = async (command: Command, options: Pick<SpawnOptions, "cwd" | "env" | "mark">): Promise<Process> => {
    if (closed) throw new ToolFailure("the backend is closed: nothing can be started on it any more");
    const child = await spawnLocal(command, { ...options, outputFolder, makePipe: pipes.make });
    running.add(child);
    void child.exit.then(() => running.delete(child));
    if (closed) await child.kill(); // it was closed while this started
    return child;
  };

  return {
    name: "local",
    ...base,
    files,
    async spawn(command) {
      return start(command, {
        cwd: await files.realPath(command.cwd ?? "."),
        env: commandEnvironment(process.env, passEnv, { HOME: home, ...command.env }),
        mark: { backend: id, process: String(++started) },
      });
    },
    async helper(program, args, { paths, signal }) {
      return start(
        {
          argv: await helperCommand(program, args, paths),
          streams: "split",
          stdin: paths.length === 0 ? "pipe" : "closed",
          ...(signal !== undefined && { signal }),
        },
        {
          cwd: base.workDir,
          // Nothing of the user's: not their ripgrep configuration either.
          env: commandEnvironment({}, [], { HOME: home }),
        },
      );
    },
    async close() {
      closed = true;
      await Promise.all([...running].map((child) => child.kill()));
      if (started > 0) await killLeftovers(id);
      await pipes.close();
    },
  };
}

async function folderAt(path: string): Promise<string> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) throw new ToolFailure(`The working directory does not exist: ${path}`);
  if (!info.isDirectory()) throw new ToolFailure(`The working directory is not a folder: ${path}`);
  return realpath(path);
}
