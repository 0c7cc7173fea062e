import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { resolve as resolvePath } from "node:path";
import type { Command, Process } from "../../core/contract/backend.ts";
import type { Env } from "../../core/contract/effect.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { ProgramMissing, findProgram } from "../programs/programs.ts";
import { messageOf, tried } from "../../core/util/errors.ts";
import { later } from "../../core/util/promises.ts";
import { folderGone } from "../process/command.ts";
import { type Input, requireUnstopped, run, untilOver } from "../process/run.ts";
import { type Capture, capture } from "./capture.ts";
import { liveCapture } from "./live-capture.ts";
import { type PipeWriter, pipeToWrite } from "./pipe.ts";
import { type Child, type Spawner, StartError, spawner } from "../spawner/connection.ts";

export interface SpawnOptions {
  readonly cwd: string;
  readonly env: Env;
  /** Added to the environment of the process and its children. Omit it for a program that starts no other programs. */
  readonly mark?: string;
  /** The beginning of the mark. Processes whose mark contains it end with the backend. */
  readonly lease?: string;
  /** Folder for output that does not fit in memory. */
  readonly outputFolder: string;
  /** Until it resolves, the process does not keep this one alive. Default: it does from the start. */
  readonly idle?: Promise<void>;
}

/**
 * Starts a program in its own session: no terminal, stdin closed by default, output in logs. The process ends when the
 * program exits, even if a child holds its output open.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnLocal(command: Command, options: SpawnOptions): Promise<Process> {
  const { argv, streams = "merged", stdin = "closed" } = command;
  const { cwd, env, mark, lease, idle } = options;
  const starting = later<Child>();
  return run(command, {
    async start() {
      const service = await spawner();
      const program = programOf(argv[0], env, cwd);
      const ends = await endsFor({ streams, stdin }, service, options);
      const { out, errors, input } = ends;
      const captures = errors === undefined ? [out] : [out, errors];
      let child: Child;
      try {
        requireUnstopped(command);
        child = await service.start({
          ...{ argv, program, cwd, env, stdout: out.pipe },
          ...(errors !== undefined && { stderr: errors.pipe }),
          ...(input !== undefined && { stdin: input.pipe }),
          ...(mark !== undefined && { mark }),
          ...(lease !== undefined && { lease }),
        });
      } catch (error) {
        for (const each of captures) each.abandon();
        input?.abandon();
        throw startFailure(error, argv[0], cwd);
      }
      starting.resolve(child);
      for (const each of captures) each.begin();
      if (idle !== undefined) {
        const keepAlive = (on: boolean) => [child, ...captures].forEach((each) => each.keepAlive(on));
        keepAlive(false);
        void idle.then(() => keepAlive(true));
      }
      const writer = input?.begin();
      return {
        id: String(child.pid),
        output: out.log,
        errors: errors?.log,
        async ended() {
          const exit = await child.exit;
          if (streams === "live" && mark !== undefined) await service.sweep({ mark });
          return exit;
        },
        async complete() {
          writer?.destroy();
          await Promise.all(captures.map((each) => each.finish()));
        },
        ...(writer !== undefined && { input: inputOf(writer) }),
      };
    },
    signal: async () => ((await (await starting.promise).stop()) ? "all" : "left"),
  });
}

function inputOf(writer: Socket): Input {
  return {
    write: (text, ended) =>
      // Node reports a write as done when `destroy` has ended it.
      untilOver(
        new Promise((resolve, reject) => writer.write(text, (error) => (error ? reject(error) : resolve()))),
        ended,
      ),
    // the callback of a destroyed stream never runs
    end: () => new Promise((resolve) => (writer.destroyed ? resolve() : writer.end(() => resolve()))),
  };
}

/** The ends of a command's pipes that this process holds. */
interface Ends {
  readonly out: Capture;
  readonly errors?: Capture;
  readonly input?: PipeWriter;
}

/** Creates either all pipes of a command, or none. */
async function endsFor(
  { streams, stdin }: Required<Pick<Command, "streams" | "stdin">>,
  service: Spawner,
  { outputFolder, mark }: SpawnOptions,
): Promise<Ends> {
  // A program without a mark is one of Handrail's. Its output is read while it runs, so it must pass through Node.
  const options = { spawner: service, folder: outputFolder, mayLeaveNode: mark !== undefined };
  const isLive = streams === "live";
  const made: { abandon(): void }[] = [];
  const making = async <T extends { abandon(): void }>(end: Promise<T>): Promise<T> => {
    made.push(await end);
    return end;
  };
  try {
    const input = stdin === "pipe" ? await making(pipeToWrite(service)) : undefined;
    const out = await making(isLive ? liveCapture(service, "queue") : capture(options));
    const errors =
      streams === "merged" ? undefined : await making(isLive ? liveCapture(service, "end") : capture(options));
    return { out, ...(errors !== undefined && { errors }), ...(input !== undefined && { input }) };
  } catch (error) {
    for (const each of made) each.abandon();
    throw error;
  }
}

/**
 * Returns the file to start for a name: a program of the machine that no tool could write. A path is as the call has
 * it.
 *
 * @throws ToolFailure
 */
export function programOf(name: string, { PATH }: Env, cwd: string): string {
  if (name.includes("/")) return name;
  try {
    return findProgram(name, { path: PATH }).real;
  } catch (error) {
    throw startFailure(error, name, cwd);
  }
}

/** Creates the error for a program that could not be started. */
export function startFailure(error: unknown, program: string, cwd: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  if (error instanceof StartError && error.isFolderMissing) return folderGone(program, cwd);
  const isMissing = error instanceof ProgramMissing && error.onlyIn === undefined;
  const why = error instanceof StartError ? reasonOf(error, program, cwd) : isMissing ? MISSING : messageOf(error);
  return new ToolFailure(`cannot start ${program}: ${why}`, { cause: error });
}

const MISSING = "no such program on the PATH";

function reasonOf({ code, message }: StartError, program: string, cwd: string): string {
  if (code === "ENOENT" && program.includes("/"))
    return "no such file, or its first line names no interpreter of this machine";
  if (code === "ENOENT") return MISSING;
  if (
    code === "EACCES" &&
    program.includes("/") &&
    tried(() => statSync(resolvePath(cwd, program)))?.isDirectory() === true
  )
    return "it is a folder";
  if (code === "EACCES") return `it is not executable, or ${cwd} may not be entered`;
  if (code === "E2BIG") return "its arguments are too long; write them to a file";
  return message;
}
