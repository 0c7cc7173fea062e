import { statSync } from "node:fs";
import { resolve as resolvePath } from "node:path";
import type { Command, Exit, Process } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { messageOf, tried } from "../../util/errors.ts";
import { UNSTOPPABLE, requireUnstopped, stoppingOf } from "../process/stop.ts";
import { type Capture, capture } from "./capture.ts";
import { liveCapture } from "./live-capture.ts";
import { pipeToWrite } from "./pipe.ts";
import { type Child, type Spawner, StartError, spawner } from "../spawner/connection.ts";

export interface SpawnOptions {
  readonly cwd: string;
  readonly env: Env;
  /** Added to the environment of the process and its children. Omit it for a program that starts no others. */
  readonly mark?: string;
  /** The beginning of the mark. Processes whose mark contains it end with the backend. */
  readonly lease?: string;
  /** Folder for output that does not fit in memory. */
  readonly outputFolder: string;
}

/**
 * Starts a program in its own session: no terminal, stdin closed by default, output in logs. The process ends when the
 * program exits, even if a child holds its output open.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnLocal(command: Command, options: SpawnOptions): Promise<Process> {
  const { streams = "merged", stdin = "closed" } = command;
  const service = await spawner();
  const input = stdin === "pipe" ? await pipeToWrite(service) : undefined;
  const { out, errors } = await capturesFor(streams, service, options).catch((error: unknown) => {
    input?.abandon();
    throw error;
  });
  const captures = errors === undefined ? [out] : [out, errors];
  let child: Child;
  try {
    requireUnstopped(command);
    child = await service.start({
      argv: command.argv,
      cwd: options.cwd,
      env: options.env,
      stdout: out.pipe,
      ...(errors !== undefined && { stderr: errors.pipe }),
      ...(input !== undefined && { stdin: input.pipe }),
      ...(options.mark !== undefined && { mark: options.mark }),
      ...(options.lease !== undefined && { lease: options.lease }),
    });
  } catch (error) {
    for (const each of captures) each.abandon();
    input?.abandon();
    throw startFailure(error, command.argv[0], options.cwd);
  }
  for (const each of captures) each.begin();
  const writer = input?.begin();

  let isLeft = false;
  const stopping = stoppingOf(command, async () => {
    isLeft = !(await child.stop());
  });
  const exit = (async (): Promise<Exit> => {
    const ended = await child.exit;
    if (streams === "live" && options.mark !== undefined) await service.sweep({ mark: options.mark });
    await stopping.settled(); // its children are ended before the call is over
    stopping.over();
    writer?.destroy();
    await Promise.all(captures.map((each) => each.finish()));
    if (isLeft) return { how: "lost", reason: UNSTOPPABLE };
    return stopping.stoppedAs ?? ended;
  })();

  return {
    id: String(child.pid),
    output: out.log,
    errors: errors?.log,
    exit,
    async write(text) {
      if (writer === undefined) throw new ToolFailure("this process was started with stdin closed");
      await new Promise<void>((resolve, reject) => {
        writer.write(text, (error) => {
          // Node reports a write that `destroy` has ended as done.
          const why = error?.message ?? (writer.destroyed ? "it has ended" : undefined);
          if (why === undefined) resolve();
          else reject(new ToolFailure(`the process no longer reads its stdin: ${why}`));
        });
      });
    },
    endInput: () =>
      new Promise((resolve) => {
        // the callback of a destroyed stream never runs
        if (writer === undefined || writer.destroyed) return resolve();
        writer.end(() => resolve());
      }),
    kill: async () => {
      await stopping.stop();
      await exit;
    },
  };
}

async function capturesFor(
  streams: "merged" | "split" | "live",
  service: Spawner,
  { outputFolder, mark }: SpawnOptions,
): Promise<{ readonly out: Capture; readonly errors?: Capture }> {
  // A program without a mark is one of ours. Its output is read while it runs, so it must pass through Node.
  const options = { spawner: service, folder: outputFolder, mayLeaveNode: mark !== undefined };
  const isLive = streams === "live";
  const out = isLive ? await liveCapture(service, "queue") : await capture(options);
  if (streams === "merged") return { out };
  try {
    return { out, errors: isLive ? await liveCapture(service, "end") : await capture(options) };
  } catch (error) {
    out.abandon();
    throw error;
  }
}

/** Creates the error for a program that could not be started. */
export function startFailure(error: unknown, program: string, cwd: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  const why = error instanceof StartError ? reasonOf(error, program, cwd) : messageOf(error);
  return new ToolFailure(`cannot start ${program}: ${why}`, { cause: error });
}

function reasonOf({ code, message, isFolderMissing }: StartError, program: string, cwd: string): string {
  if (isFolderMissing) return `there is no folder ${cwd}`;
  if (code === "ENOENT" && program.includes("/"))
    return "no such file, or its first line names no interpreter of this machine";
  if (code === "ENOENT") return "no such program on the PATH";
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
