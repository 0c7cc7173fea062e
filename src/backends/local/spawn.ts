import { type ChildProcess, spawn } from "node:child_process";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Command, Exit, Process } from "../../contract/backend.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { type WritableOutputLog, createOutputLog } from "../../output/log.ts";
import { codeOf, messageOf } from "../../util/errors.ts";
import { pause } from "../../util/abort.ts";
import { type Mark, PROCESS_MARK, killTree, markValue } from "./kill-tree.ts";
import type { Pipe } from "./pipes.ts";

/** After the process has ended its last output may still be in the pipe: it is read until nothing comes for this long … */
const QUIET_MS = 15;
/** … and no longer than this, since a background child that still writes must not hold the call … */
const DRAIN_MS = 500;
/** … nor for more bytes than a pipe can hold (fs.pipe-max-size in pipe(7), 1 MiB): what comes behind them is a child's. */
const MOST_IN_PIPE = 1_048_576;

/** From so much on that a child in the background writes after its command has ended, its pipe is closed: 256 MiB. */
const MOST_UNREAD = 268_435_456;

/** Timers take no more; they would fire at once. Nearly 25 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export interface SpawnOptions {
  readonly cwd: string;
  readonly env: Env;
  /** Names the process and everything it starts. Unique. Left out for a program that starts no others. */
  readonly mark?: Mark;
  /** Where output that is too big for memory goes. */
  readonly outputFolder: string;
  makePipe(): Promise<Pipe>;
}

/**
 * Starts a program in a session of its own: no terminal, stdin closed unless asked for, its output in logs. The process has ended
 * when the program has, whatever still holds its output.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnLocal(command: Command, options: SpawnOptions): Promise<Process> {
  const { streams = "merged", stdin = "closed" } = command;
  const out = await capture(options);
  const errors = streams === "split" ? await capture(options) : undefined;
  const started = Date.now();
  const child = await start(command, options, stdin === "pipe" ? "pipe" : "ignore", out.pipe, errors?.pipe);
  const pid = child.pid ?? 0;

  let stopped: Exit | undefined;
  let killing: Promise<void> | undefined;
  const stop = (as?: Exit): Promise<void> => {
    stopped ??= as;
    killing ??= killTree(pid, options.mark);
    return killing;
  };

  const timer =
    command.timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => void stop({ how: "timed-out", afterMs: Date.now() - started }),
          Math.min(command.timeoutMs, LONGEST_TIMEOUT_MS),
        );
  const onAbort = () => void stop({ how: "aborted" });
  command.signal?.addEventListener("abort", onAbort, { once: true });
  if (command.signal?.aborted) onAbort();

  const exit = (async (): Promise<Exit> => {
    const ended = await ending(child);
    clearTimeout(timer);
    command.signal?.removeEventListener("abort", onAbort);
    await killing; // what it started goes too before the call is over
    await Promise.all([out.finish(), errors?.finish()]);
    return stopped ?? ended;
  })();

  return {
    id: String(pid),
    output: out.log,
    errors: errors?.log,
    exit,
    async write(text) {
      const { stdin: input } = child;
      if (input === null) throw new ToolFailure("this process has no stdin: it was started with stdin closed");
      await new Promise<void>((resolve, reject) => {
        input.write(text, (error) =>
          error ? reject(new ToolFailure(`the process no longer reads its stdin: ${error.message}`)) : resolve(),
        );
      });
    },
    endInput: () =>
      new Promise((resolve) => {
        const { stdin: input } = child;
        if (input === null || input.destroyed) return resolve(); // nothing calls back about a stream that is gone
        input.end(() => resolve());
      }),
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      await stop();
      await exit;
    },
  };
}

async function start(
  { argv: [program, ...args], signal }: Command,
  { cwd, env, mark }: SpawnOptions,
  stdin: "pipe" | "ignore",
  out: Pipe,
  errors: Pipe | undefined,
): Promise<ChildProcess> {
  try {
    if (signal?.aborted) throw new ToolFailure(`${program} was stopped before it was started`);
    const child = spawn(program, args, {
      cwd,
      env: mark === undefined ? env : { ...env, [PROCESS_MARK]: markValue(mark) },
      detached: true, // a session of its own: no terminal to ask on, one group to signal
      stdio: [stdin, out.writeFd, (errors ?? out).writeFd],
    });
    child.stdin?.on("error", () => undefined); // told to whoever writes
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return child;
  } catch (error) {
    out.reader.destroy();
    errors?.reader.destroy();
    throw startFailure(error, program, cwd);
  } finally {
    out.closeWriter();
    errors?.closeWriter();
  }
}

function startFailure(error: unknown, program: string, cwd: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  const code = codeOf(error);
  // ENOENT is told for the program and for the folder alike.
  if (code === "ENOENT")
    return new ToolFailure(`cannot start ${program}: no such program on the PATH, or no folder ${cwd}`, {
      cause: error,
    });
  if (code === "EACCES")
    return new ToolFailure(`cannot start ${program}: it is not executable, or ${cwd} may not be entered`, {
      cause: error,
    });
  if (code === "E2BIG")
    return new ToolFailure(`cannot start ${program}: its arguments are too long; write them to a file`, {
      cause: error,
    });
  return new ToolFailure(`cannot start ${program}: ${messageOf(error)}`, { cause: error });
}

function ending(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      if (signal !== null) resolve({ how: "signaled", signal });
      else resolve({ how: "exited", code: code ?? 0 });
    });
  });
}

interface Capture {
  readonly pipe: Pipe;
  readonly log: WritableOutputLog;
  /** Reads what is still in the pipe and closes the log; what a background child writes from then on is dropped. */
  finish(): Promise<void>;
}

async function capture({ makePipe, outputFolder }: SpawnOptions): Promise<Capture> {
  const pipe = await makePipe();
  const log = createOutputLog({ folder: outputFolder });
  const reading = { bytes: 0, lastChunk: 0, heldUp: false };
  let unread = 0;
  const closed = (async () => {
    try {
      for await (const chunk of pipe.reader) {
        if (log.ended && (unread += (chunk as Buffer).length) > MOST_UNREAD) break;
        log.write(chunk as Buffer);
        reading.heldUp = true;
        await log.drained(); // a command that writes faster than the disk waits, as it would for any reader
        reading.heldUp = false;
        reading.bytes += (chunk as Buffer).length;
        reading.lastChunk = performance.now();
      }
    } catch {
      // destroyed, because the program could not be started
    }
  })();
  return {
    pipe,
    log,
    async finish() {
      await Promise.race([closed, quiet(reading)]);
      await log.end();
      // A child in the background may still write: a closed pipe would end it, so what it writes is read on and dropped.
      pipe.reader.unref();
    },
  };
}

/** Resolves when what was in the pipe has been read. While the disk holds up the reading, silence says nothing. */
async function quiet(reading: {
  readonly bytes: number;
  readonly lastChunk: number;
  readonly heldUp: boolean;
}): Promise<void> {
  const ended = performance.now();
  const enough = reading.bytes + MOST_IN_PIPE;
  while (reading.bytes < enough) {
    await pause(QUIET_MS);
    await nextTurn(); // timers come before input: when we were busy for long, there may be some unread
    const now = performance.now();
    if (reading.heldUp) continue;
    if (now - Math.max(ended, reading.lastChunk) >= QUIET_MS || now - ended >= DRAIN_MS) return;
  }
}
