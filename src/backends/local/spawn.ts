import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Command, Exit, Process } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { messageOf } from "../../util/errors.ts";
import { UNSTOPPABLE, stoppingOf } from "../stopping.ts";
import { type Capture, capture } from "./capture.ts";
import { pipeToWrite, removeName } from "./pipe.ts";
import { type Child, type Spawner, StartError, spawner } from "./spawner/connection.ts";

export interface SpawnOptions {
  readonly cwd: string;
  readonly env: Env;
  /** In the environment of the process and of everything it starts. Left out for a program that starts no others. */
  readonly mark?: string;
  /** The beginning of the mark: everything with it in its mark ends with the backend. */
  readonly lease?: string;
  /** Where output that is too big for memory goes. */
  readonly outputFolder: string;
}

/**
 * Starts a program in a session of its own: no terminal, stdin closed unless asked for, its output in logs. The process has ended
 * when the program has, whatever still holds its output.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnLocal(command: Command, options: SpawnOptions): Promise<Process> {
  const { streams = "merged", stdin = "closed", signal } = command;
  const service = await spawner();
  const input = stdin === "pipe" ? await inputFor(service) : undefined;
  const { out, errors } = await capturesFor(streams, service, options).catch((error: unknown) => {
    input?.abandon();
    throw error;
  });
  const captures = errors === undefined ? [out] : [out, errors];
  let child: Child;
  try {
    if (signal?.aborted) throw new ToolFailure(`${command.argv[0]} was stopped before it was started`);
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
    await stopping.settled(); // what it started goes too before the call is over
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
      if (writer === undefined) throw new ToolFailure("this process has no stdin: it was started with stdin closed");
      await new Promise<void>((resolve, reject) => {
        writer.write(text, (error) =>
          error ? reject(new ToolFailure(`the process no longer reads its stdin: ${error.message}`)) : resolve(),
        );
      });
    },
    endInput: () =>
      new Promise((resolve) => {
        if (writer === undefined || writer.destroyed) return resolve(); // nothing calls back about a stream that is gone
        writer.end(() => resolve());
      }),
    kill: async () => {
      await stopping.stop();
      await exit;
    },
  };
}

async function capturesFor(
  streams: "merged" | "split",
  service: Spawner,
  { outputFolder, mark }: SpawnOptions,
): Promise<{ readonly out: Capture; readonly errors?: Capture }> {
  // A program of ours is started for its output, which is read as it comes.
  const options = { spawner: service, folder: outputFolder, mayLeaveNode: mark !== undefined };
  const out = await capture(options);
  if (streams === "merged") return { out };
  try {
    return { out, errors: await capture(options) };
  } catch (error) {
    out.abandon();
    throw error;
  }
}

/** A pipe to a command's stdin. */
interface Input {
  readonly pipe: string;
  /** The command has its end: what is written from now on is for it. */
  begin(): Socket;
  abandon(): void;
}

async function inputFor(service: Spawner): Promise<Input> {
  const { pipe, fd, both } = await pipeToWrite(service);
  return {
    pipe,
    begin() {
      closeSync(both); // with a reading end of ours we would never hear that the command's has gone
      removeName(pipe);
      const writer = new Socket({ fd, readable: false, writable: true });
      writer.on("error", () => undefined); // told to whoever writes
      return writer;
    },
    abandon() {
      closeSync(both);
      closeSync(fd);
      removeName(pipe);
    },
  };
}

/** Why a program could not be started, in words. */
export function startFailure(error: unknown, program: string, cwd: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  const why = error instanceof StartError ? reasonOf(error, cwd) : messageOf(error);
  return new ToolFailure(`cannot start ${program}: ${why}`, { cause: error });
}

function reasonOf({ code, message, isFolderMissing }: StartError, cwd: string): string {
  if (isFolderMissing) return `there is no folder ${cwd}`;
  if (code === "ENOENT") return "no such program on the PATH";
  if (code === "EACCES") return `it is not executable, or ${cwd} may not be entered`;
  if (code === "E2BIG") return "its arguments are too long; write them to a file";
  return message;
}
