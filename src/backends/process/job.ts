import type { Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure, Unreachable } from "../../contract/failure.ts";
import type { JobLifetime } from "../../contract/lifetime.ts";
import { polledLog } from "../../output/polled-log.ts";
import { onAbort, pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { later } from "../../util/promises.ts";
import { UNSTOPPABLE, stoppingOf } from "./stop.ts";
import { type End, type JobStatus, createJudge, endOf } from "./status.ts";

/** The pause before the next check after an event. Pauses then grow up to `longestWaitMs`. Milliseconds. */
const SOON_MS = 50;

/** How often, and for how long, an unreachable backend is tried again: every 15 s for 10 min. */
const AGAIN_MS = 15_000;
const GIVEN_UP_MS = 600_000;

/** The shortest time between two checks that reading the output's size causes. Milliseconds. */
const SIZE_MS = 100;

/** The folder of a job, with its output, its stdin and its notes. */
export interface JobFolder {
  /** Reads the status. Rejects if the backend cannot be reached. */
  look(): Promise<JobStatus>;
  /** The number of bytes kept now. Only if reading it is cheap. */
  keptNow?(): number;
  /** Reads bytes `start` to `end` of the output; fewer at its end. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Resolves when the pipe has taken the text. Rejects with `ToolFailure` when nobody reads it or the signal fires. */
  write(text: string, ended: AbortSignal): Promise<void>;
  /** Ends stdin, which the process with this PID holds open. */
  endInput(holder: number): Promise<void>;
  /** Ends the running process and its children. Resolves to false if some cannot be ended. */
  end(): Promise<boolean>;
  /** Notes that the exit status is lost. */
  noteLost(): Promise<void>;
  /** Removes the folder. */
  remove(): Promise<void>;
  /** The longest pause between two checks, in milliseconds. */
  readonly longestWaitMs: number;
  /** Fires when the backend is closed. */
  readonly closed?: AbortSignal;
  /** Converts the exit in the notes. Default: unchanged. */
  exitOf?(exit: Exit, wasStopped: boolean): Exit;
}

/** A job that was started here or found. */
export interface JobHandle {
  readonly process: Process;
  /** How it has ended; `undefined` while it runs. */
  end(): Promise<End | undefined>;
  remove(): Promise<void>;
}

/** Creates a `Process` for a job's folder. A detached one is polled from the first use of `exit`. */
export function jobHandle(
  folder: JobFolder,
  { id, lifetime }: { readonly id: string; readonly lifetime: JobLifetime },
  limits: Pick<Command, "timeoutMs" | "signal"> = {},
): JobHandle {
  const { longestWaitMs, closed } = folder;
  const judge = createJudge();
  let kept = 0;
  let dropped = 0;
  let wakeUp = new AbortController();
  let exiting: Promise<Exit> | undefined;
  let lookingAgain: Promise<void> | undefined;

  const wake = () => {
    wakeUp.abort();
    wakeUp = new AbortController();
  };

  const look = async () => {
    const status = await folder.look();
    kept = Math.max(kept, status.kept); // checks may overtake each other
    dropped = status.dropped ?? dropped;
    const judged = judge(status);
    if (judged.isNewlyLost) await folder.noteLost().catch(() => undefined);
    return { ...judged, kept, holder: status.holder };
  };

  /** Does work that needs the backend. Tries again for up to 10 minutes while it cannot be reached. */
  const persistently = async <T>(work: () => Promise<T>): Promise<T> => {
    const startedMs = performance.now();
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const isHopeless = error instanceof Unreachable && !error.mayPass;
        if (isHopeless || closed?.aborted || performance.now() - startedMs > GIVEN_UP_MS) throw error;
        await pause(AGAIN_MS, wakeUp.signal, { keepsAlive: keepsAlive() });
      }
    }
  };

  /** Whether polling keeps this process alive: for a detached process only while it is being stopped. */
  const keepsAlive = () => lifetime === "toolkit" || stopping.wasStopped;
  let isEnded = false;
  const left = later<Exit>();
  const stopping = stoppingOf(limits, async () => {
    // Only while it runs: afterwards its PID may be another process's.
    const all = await persistently(async () => (await endOf(look)) !== undefined || folder.end()).catch(
      () => undefined,
    );
    isEnded = all === true;
    if (all === false) left.resolve({ how: "lost", reason: UNSTOPPABLE });
    wake();
  });

  const ended = async (): Promise<Exit> => {
    try {
      for (let wait = SOON_MS; !closed?.aborted; wait = Math.min(1.4 * wait, longestWaitMs)) {
        const { signal: woken } = wakeUp;
        const { state, isOver } = await persistently(look);
        if (isOver && typeof state === "object") return folder.exitOf?.(state.exit, stopping.wasStopped) ?? state.exit;
        if (state !== "running") wait = SOON_MS;
        await pause(wait, woken, { keepsAlive: keepsAlive() });
        if (woken.aborted) wait = SOON_MS;
      }
    } catch (error) {
      const reason = `${messageOf(error)}; whether it still runs is unknown`;
      if (!closed?.aborted) return { how: "lost", reason };
    }
    const goesOn = lifetime === "detached" ? "; it continues" : "";
    return { how: "lost", reason: `the backend was closed${goesOn}` };
  };
  const settle = async (): Promise<Exit> => {
    const release = closed === undefined ? undefined : onAbort(closed, wake);
    const exit = await Promise.race([ended(), left.promise]);
    release?.();
    await stopping.settled();
    stopping.over();
    if (stopping.stoppedAs !== undefined && isEnded) return stopping.stoppedAs;
    return exit.how === "lost" && isEnded ? { how: "aborted" } : exit;
  };
  const exit = () => {
    exiting ??= settle();
    return exiting;
  };

  /** Returns the last known number of kept bytes, and starts a check that updates it. */
  const keptSoon = (): number => {
    const now = folder.keptNow?.();
    if (now !== undefined) return (kept = Math.max(kept, now));
    lookingAgain ??= look()
      .catch(() => undefined) // reading the output reports it
      .then(() => pause(SIZE_MS, undefined, { keepsAlive: false }))
      .finally(() => (lookingAgain = undefined));
    return kept;
  };
  const output = polledLog({
    get size() {
      return keptSoon() + dropped;
    },
    get kept() {
      return keptSoon();
    },
    async look() {
      const judged = await look();
      if (judged.state !== "running") wake();
      return judged;
    },
    read: folder.read,
    async dispose() {
      if (lifetime === "toolkit") await folder.remove().catch(() => undefined);
    },
  });

  let writing: Promise<unknown> = Promise.resolve();
  /** Runs work on stdin in order. */
  const inOrder = (work: () => Promise<void>): Promise<void> => {
    const done = writing.then(work);
    writing = done.catch(() => undefined);
    return done;
  };
  const process: Process = {
    id,
    output,
    errors: undefined,
    get exit() {
      return exit();
    },
    write: (text) =>
      inOrder(async () => {
        const { state, holder } = await look();
        if (state !== "running") throw new ToolFailure(`${NOT_READ}: it has ended`);
        if (holder === undefined) throw new ToolFailure("the stdin of this process is closed");
        const over = new AbortController();
        void exit().then(() => over.abort());
        if (text !== "") await folder.write(text, over.signal);
        wake();
      }),
    endInput: () =>
      inOrder(async () => {
        const { holder } = await look();
        if (holder !== undefined) await folder.endInput(holder);
        wake();
      }).catch(() => undefined),
    async kill() {
      if (exiting === undefined && (await endOf(look)) !== undefined) return;
      await stopping.stop();
      await exit();
    },
  };
  if (lifetime === "toolkit") void exit();
  return { process, end: () => endOf(look), remove: folder.remove };
}

/** The beginning of the error of a failed write. */
export const NOT_READ = "the process no longer reads its stdin";
