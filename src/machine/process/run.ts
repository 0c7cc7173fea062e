import type { Command, Exit, OutputLog, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { onAbort } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { later } from "../../core/util/promises.ts";
import { type Ended, type LifeEvent, type Stopped, STARTED, exitOf, lived, phaseOf } from "./life.ts";

/** The longest timeout of a timer: almost 25 days. A longer one would fire at once. Milliseconds. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** How a target starts and ends one command. `run` makes a `Process` of it. */
export interface Driver {
  /** Starts the command. @throws ToolFailure when it cannot be started. */
  start(): Promise<Started>;
  /** Ends the command and everything it started. Called at most once, also while it is starting. Never rejects. */
  signal(): Promise<Stopped>;
  /** For the error of a command that was stopped while it was starting: what to check. */
  readonly startHint?: string;
}

/** A command that was started, as its target reads it. */
export interface Started {
  readonly id: string;
  readonly output: OutputLog;
  /** stderr, if the streams are split. */
  readonly errors?: OutputLog | undefined;
  /** Resolves to how the command has ended, or to "lost". Called once. Never rejects. */
  ended(): Promise<Ended>;
  /**
   * Reads the rest of the output, which a child may hold open, and releases what the command used. Called once, when
   * nothing stops the command any more. Never rejects.
   */
  complete(): Promise<void>;
  /** The command's stdin. Default: closed. */
  readonly input?: Input;
  /** Where the command runs, if people can see it: "pane %1". */
  readonly place?: string;
  /** True: the command's end is watched from the first use of `exit`, `kill` or `write`. Default: at once. */
  readonly isIdle?: boolean;
}

export interface Input {
  /**
   * Resolves when the text is written. Any error means that nobody reads it. `ended` fires with the process's end:
   * where the write would hang then, it rejects (`untilOver`).
   */
  write(text: string, ended: AbortSignal): Promise<void>;
  /** Never rejects. */
  end(): Promise<void>;
}

/** Runs a command by its driver, and stops it at its timeout, at its signal and on request. Rejects like `start`. */
export async function run(command: Pick<Command, "argv" | "timeoutMs" | "signal">, driver: Driver): Promise<Process> {
  requireUnstopped(command);
  let life = STARTED;
  let started: Started | undefined;
  const exited = later<Exit>();
  const over = new AbortController();
  const tell = (event: LifeEvent) => {
    const before = life;
    life = lived(life, event);
    if (life.stop === "asked" && before.stop === "unasked") {
      void driver.signal().then((what) => tell({ is: "stopped", what }));
    }
    const phase = phaseOf(life);
    if (phase === phaseOf(before)) return;
    if (phase === "completes") {
      release();
      over.abort();
      void started?.complete().then(() => tell({ is: "complete" }));
    }
    if (phase === "over") exited.resolve(exitOf(life, started?.place));
  };
  const release = limit(command, (as) => tell({ is: "stop", as }));

  try {
    started = await driver.start();
  } catch (error) {
    release();
    if (life.stop === "unasked") throw error;
    const hint = driver.startHint === undefined ? {} : { hint: driver.startHint };
    throw new ToolFailure(`${command.argv[0]} was stopped while it was starting`, { ...hint, cause: error });
  }
  const { id, output, errors, ended, complete, input, place, isIdle = false } = started;
  if (phaseOf(life) === "completes") void complete().then(() => tell({ is: "complete" }));
  let isWatched = false;
  const exit = () => {
    if (!isWatched) void ended().then((how) => tell({ is: "ended", how }));
    isWatched = true;
    return exited.promise;
  };
  if (!isIdle) void exit();

  return {
    id,
    output,
    errors,
    ...(place !== undefined && { place }),
    get exit() {
      return exit();
    },
    async write(text) {
      if (input === undefined) throw new ToolFailure("this process was started with stdin closed");
      if (over.signal.aborted) throw new ToolFailure(`${NOT_READ}: it has ended`);
      void exit();
      await input.write(text, over.signal).catch((error: unknown) => {
        if (error instanceof ToolFailure) throw error;
        throw new ToolFailure(`${NOT_READ}: ${messageOf(error)}`, { cause: error });
      });
    },
    async endInput() {
      if (input !== undefined && !over.signal.aborted) await untilOver(input.end(), over.signal).catch(() => undefined);
    },
    async kill() {
      tell({ is: "stop", as: undefined });
      await exit();
    },
  };
}

/**
 * A process that runs already, as that of a command: stopped at the command's timeout and signal. Rejects like `run`.
 */
export function takenOver(running: Process, command: Pick<Command, "argv" | "timeoutMs" | "signal">): Promise<Process> {
  const { id, output, errors, exit } = running;
  return run(command, {
    start: () =>
      Promise.resolve({
        id,
        output,
        errors,
        ended: () => exit,
        complete: () => Promise.resolve(),
        input: { write: (text) => running.write(text), end: () => running.endInput() },
      }),
    async signal() {
      await running.kill();
      return (await exit).how === "lost" ? "left" : "all";
    },
  });
}

/** Calls `stop` at the timeout and at the signal. Returns a function that disables both. */
function limit({ timeoutMs, signal }: Pick<Command, "timeoutMs" | "signal">, stop: (as: Exit) => void): () => void {
  const startedMs = Date.now();
  const late = () => stop({ how: "timed-out", afterMs: Date.now() - startedMs });
  const timer = timeoutMs === undefined ? undefined : setTimeout(late, Math.min(timeoutMs, LONGEST_TIMEOUT_MS));
  const ignore = signal === undefined ? undefined : onAbort(signal, () => stop({ how: "aborted" }));
  return () => {
    clearTimeout(timer);
    ignore?.();
  };
}

/** Settles like the work on stdin. Rejects when the process ends first. */
export function untilOver(work: Promise<void>, over: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = onAbort(over, () => reject(new Error("it has ended")));
    work.then(resolve, reject).finally(release);
  });
}

/** The beginning of the error of a failed write. */
const NOT_READ = "the process no longer reads its stdin";

/** @throws ToolFailure for a command that was stopped before its start. */
export function requireUnstopped({ argv, signal }: Pick<Command, "argv" | "signal">): void {
  if (signal?.aborted) throw new ToolFailure(`${argv[0]} was stopped before it was started`);
}

/** Creates the error of a closed backend. */
export function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed and starts nothing any more");
}
