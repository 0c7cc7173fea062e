import type { Command, Exit, Process } from "../../contract/backend.ts";
import { ToolFailure, Unreachable } from "../../contract/failure.ts";
import type { JobLifetime } from "../../contract/lifetime.ts";
import { polledLog } from "../../output/polled-log.ts";
import { onAbort, pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { UNSTOPPABLE, stoppingOf } from "../stopping.ts";
import { type End, type JobStatus, createJudge, endOf } from "./status.ts";

/** How soon a job is looked at again after something has happened. From there the pauses grow up to `longestWaitMs`. */
const SOON_MS = 50;

/** How often a backend that cannot be reached is tried again, and for how long: 15 s, 10 min. */
const AGAIN_MS = 15_000;
const GIVEN_UP_MS = 600_000;

/** How often at most an output is looked at because its size was read. Milliseconds. */
const SIZE_MS = 100;

/** The folder of a job: where its output, its stdin and the notes on it are. */
export interface JobFolder {
  /** Rejects where the backend cannot be reached. */
  look(): Promise<JobStatus>;
  /** Bytes kept at this moment; only where asking costs nothing. */
  keptNow?(): number;
  /** Bytes `start` to `end` of the output; fewer where it ends. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Resolves when the job's pipe has taken the text. Rejects with a `ToolFailure` when nobody reads it, and as soon as the signal fires. */
  write(text: string, ended: AbortSignal): Promise<void>;
  /** Ends stdin, which the process with this number holds open. */
  endInput(holder: number): Promise<void>;
  /** Ends the process and all that it started; only asked while it runs. Resolves to false when some of that cannot be ended. */
  end(): Promise<boolean>;
  /** Notes that the exit status is lost. */
  noteLost(): Promise<void>;
  /** Removes the folder. */
  remove(): Promise<void>;
  /** How rarely a job in which nothing happens is looked at. Milliseconds. */
  readonly longestWaitMs: number;
  /** Fires when the backend is closed and cannot be asked any more. */
  readonly closed?: AbortSignal;
  /** How it ended, when the notes say this. Default: as the notes say. */
  exitOf?(exit: Exit, wasStopped: boolean): Exit;
}

/** A job, for whoever started it or found it. */
export interface JobHandle {
  readonly process: Process;
  /** How it has ended; `undefined` while it runs. */
  end(): Promise<End | undefined>;
  remove(): Promise<void>;
}

/** Makes a process of a job's folder. A detached one is looked at from when somebody first asks for its exit. */
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
    kept = Math.max(kept, status.kept); // looks may overtake each other
    dropped = status.dropped ?? dropped;
    const judged = judge(status);
    if (judged.isNewlyLost) await folder.noteLost().catch(() => undefined);
    return { ...judged, kept, holder: status.holder };
  };

  /** Does what needs the backend, again and again where it cannot be reached, until there is no hope: for 10 minutes at most. */
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

  /** Nobody waits for the end of a detached process, unless it is being stopped. */
  const keepsAlive = () => lifetime === "toolkit" || stopping.wasStopped;
  let isEnded = false;
  let leave: (exit: Exit) => void = () => undefined;
  const left = new Promise<Exit>((resolve) => (leave = resolve));
  const stopping = stoppingOf(limits, async () => {
    // Only while it runs: its number may be another process's afterwards.
    const all = await persistently(async () => (await endOf(look)) !== undefined || folder.end()).catch(
      () => undefined,
    );
    isEnded = all === true;
    if (all === false) leave({ how: "lost", reason: UNSTOPPABLE });
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
    const goesOn = lifetime === "detached" ? "; it goes on" : "";
    return { how: "lost", reason: `the backend was closed${goesOn}` };
  };
  const settle = async (): Promise<Exit> => {
    const release = closed === undefined ? undefined : onAbort(closed, wake);
    const exit = await Promise.race([ended(), left]);
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

  /** Size and what is kept are those that were seen last; asking for them has them looked at again. */
  const keptSoon = (): number => {
    const now = folder.keptNow?.();
    if (now !== undefined) return (kept = Math.max(kept, now));
    lookingAgain ??= look()
      .catch(() => undefined) // it shows where the output is read
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
  /** What is done with stdin is done in order. */
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
        if (holder === undefined)
          throw new ToolFailure("this process has no stdin: it was closed at its start or since");
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

/** Why writing to a process failed. */
export const NOT_READ = "the process no longer reads its stdin";
