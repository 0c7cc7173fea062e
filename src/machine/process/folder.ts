import type { Command, OutputLog, Process } from "../../core/contract/backend.ts";
import { ToolFailure, Unreachable } from "../../core/contract/failure.ts";
import type { JobLifetime } from "../../core/contract/lifetime.ts";
import { polledLog } from "../../core/output/polled-log.ts";
import { onAbort, pause } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { later } from "../../core/util/promises.ts";
import type { Ended, Stopped } from "./life.ts";
import { type Input, run } from "./run.ts";
import { type End, type JobState, type JobStatus, createJudge, endOf } from "./status.ts";

/** The pause before the next check after an event. Later pauses grow up to `longestWaitMs`. Milliseconds. */
const SOON_MS = 50;

/** How often, and for how long, to retry while the backend cannot be reached: every 15 s for 10 min. */
const AGAIN_MS = 15_000;
const GIVEN_UP_MS = 600_000;

/** The shortest time between two checks that reading the output's size causes. Milliseconds. */
const SIZE_MS = 100;

/** The folder of a job, with its output, its stdin and its notes. */
export interface JobFolder {
  /** Reads the status. Rejects if the backend cannot be reached. */
  look(): Promise<JobStatus>;
  /** The number of bytes kept now. Absent unless reading it is cheap. */
  keptNow?(): number;
  /** Reads bytes `start` to `end` of the output; fewer at its end. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Resolves when the pipe has taken the text. Rejects when nobody reads it or the signal fires. */
  write(text: string, ended: AbortSignal): Promise<void>;
  /** Ends stdin, which the process with this PID holds open. */
  endInput(holder: number): Promise<void>;
  /** Ends the running process and its children. Resolves to false if some of them cannot be ended. */
  end(): Promise<boolean>;
  /** Notes that the exit status is lost. */
  noteLost(): Promise<void>;
  /** Removes the folder. */
  remove(): Promise<void>;
  /** The longest pause between two checks, in milliseconds. */
  readonly longestWaitMs: number;
  /** Fires when the backend is closed. */
  readonly closed?: AbortSignal;
  /** Whether a shell watches the job, so that its notes have exit codes and no signals. Default: false. */
  readonly hasCodes?: boolean;
}

/** A job that was started here or found. */
export interface JobHandle {
  readonly process: Process;
  /** How the job has ended; `undefined` while it runs. */
  end(): Promise<End | undefined>;
  remove(): Promise<void>;
}

/** A job that runs, or has run, with its `Process.id`. */
export interface BegunJob {
  readonly id: string;
  readonly folder: JobFolder;
}

/** Creates a `Process` for a job. A detached process is watched from the first use of `exit`. Rejects like `begin`. */
export async function runJob(
  lifetime: JobLifetime,
  command: Pick<Command, "argv" | "timeoutMs" | "signal">,
  begin: () => Promise<BegunJob>,
): Promise<JobHandle> {
  const begun = later<{ readonly folder: JobFolder; readonly watch: Watch }>();
  const process = await run(command, {
    async start() {
      const { id, folder } = await begin();
      const watch = watchOf(folder, lifetime);
      begun.resolve({ folder, watch });
      const { ended, input } = watch;
      const output = outputOf(folder, lifetime, watch);
      return { id, output, ended, complete: async () => undefined, input, isIdle: lifetime === "detached" };
    },
    signal: async () => (await begun.promise).watch.signal(),
  });
  const { folder, watch } = await begun.promise;
  return { process, end: () => endOf(watch.look), remove: () => folder.remove() };
}

/** What was read in a job's folder. */
interface Looked {
  readonly state: JobState;
  readonly isOver: boolean;
  readonly kept: number;
  readonly dropped: number;
  readonly holder: number | undefined;
}

type Watch = ReturnType<typeof watchOf>;

/** Watches one job in its folder. */
function watchOf(folder: JobFolder, lifetime: JobLifetime) {
  const { longestWaitMs, closed } = folder;
  const judge = createJudge();
  /** The last status. */
  const known = { kept: 0, dropped: 0 };
  let wakeUp = new AbortController();
  let isStopping = false;
  /** Whether polling keeps this process alive: for a detached process only while it is being stopped. */
  const keepsAlive = () => lifetime === "toolkit" || isStopping;

  /** Makes the next check come soon. */
  const wake = () => {
    wakeUp.abort();
    wakeUp = new AbortController();
  };
  /** Rejects like `JobFolder.look`. */
  const look = async (): Promise<Looked> => {
    const status = await folder.look();
    known.kept = Math.max(known.kept, status.kept); // a later check may finish before an earlier one
    known.dropped = status.dropped ?? known.dropped;
    const { state, isOver, isNewlyLost } = judge(status);
    if (isNewlyLost) await folder.noteLost().catch(() => undefined);
    return { state, isOver, ...known, holder: status.holder };
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
  const polled = async (): Promise<Ended> => {
    for (let wait = SOON_MS; !closed?.aborted; wait = Math.min(1.4 * wait, longestWaitMs)) {
      const { signal: woken } = wakeUp;
      const { state, isOver } = await persistently(look);
      if (isOver && typeof state === "object") {
        const { exit } = state;
        return folder.hasCodes === true && exit.how === "exited" ? { how: "code", code: exit.code } : exit;
      }
      if (state !== "running") wait = SOON_MS;
      await pause(wait, woken, { keepsAlive: keepsAlive() });
      if (woken.aborted) wait = SOON_MS;
    }
    throw new Error("the backend was closed");
  };

  return {
    look,
    known,
    wake,
    async ended(): Promise<Ended> {
      const release = closed === undefined ? undefined : onAbort(closed, wake);
      try {
        return await polled();
      } catch (error) {
        const goesOn = lifetime === "detached" ? "; it continues" : "";
        const reason = closed?.aborted
          ? `the backend was closed${goesOn}`
          : `${messageOf(error)}; whether it still runs is unknown`;
        return { how: "lost", reason };
      } finally {
        release?.();
      }
    },
    async signal(): Promise<Stopped> {
      isStopping = true;
      let isSent = false;
      try {
        return await persistently(async () => {
          // Only while the process runs: afterwards its PID may belong to another process.
          if ((await endOf(look)) !== undefined) return isSent ? "all" : "none";
          isSent = true;
          return (await folder.end()) ? "all" : "left";
        });
      } catch {
        return "none";
      } finally {
        wake();
      }
    },
    input: inputOf(folder, look, wake),
  };
}

function inputOf(folder: JobFolder, look: () => Promise<Looked>, wake: () => void): Input {
  let before: Promise<unknown> = Promise.resolve();
  /** Runs work on stdin in order. */
  const inOrder = (work: () => Promise<void>): Promise<void> => {
    const done = before.then(work);
    before = done.catch(() => undefined);
    return done.finally(wake);
  };
  return {
    write: (text, ended) =>
      inOrder(async () => {
        const { state, holder } = await look();
        if (state !== "running") throw new Error("it has ended");
        if (holder === undefined) throw new ToolFailure("the stdin of this process is closed");
        if (text !== "") await folder.write(text, ended);
      }),
    end: () =>
      inOrder(async () => {
        const { holder } = await look();
        if (holder !== undefined) await folder.endInput(holder);
      }).catch(() => undefined),
  };
}

function outputOf(folder: JobFolder, lifetime: JobLifetime, { look, known, wake }: Watch): OutputLog {
  let lookingAgain: Promise<void> | undefined;
  /** Returns the last known number of kept bytes, and starts a check that updates it. */
  const keptSoon = (): number => {
    const now = folder.keptNow?.();
    if (now !== undefined) return Math.max(known.kept, now);
    lookingAgain ??= look()
      .catch(() => undefined) // reading the output reports it
      .then(() => pause(SIZE_MS, undefined, { keepsAlive: false }))
      .finally(() => (lookingAgain = undefined));
    return known.kept;
  };
  return polledLog({
    get size() {
      return keptSoon() + known.dropped;
    },
    get kept() {
      return keptSoon();
    },
    async look() {
      const looked = await look();
      if (looked.state !== "running") wake();
      return looked;
    },
    read: (start, end) => folder.read(start, end),
    async dispose() {
      if (lifetime === "toolkit") await folder.remove().catch(() => undefined);
    },
  });
}
