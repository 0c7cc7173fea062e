import type { Command, Exit, OutputLog, Process } from "../../contract/backend.ts";
import { ToolFailure, Unreachable } from "../../contract/failure.ts";
import { type WritableOutputLog, createOutputLog } from "../../output/log.ts";
import { pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";
import { quoteWord } from "../../util/shell.ts";
import { endThere, exitOf } from "./ending.ts";
import type { Family } from "./family.ts";
import { type JobState, LARGE_BLOCK, type OutputFile, lookAt, outputFilesOf, startInFolder } from "./job-folder.ts";
import { inputOf } from "./job-input.ts";
import type { Shells } from "./shells.ts";
import { stoppingOf } from "./stopping.ts";

/** While something comes, or somebody waits for it, it is looked again after so long … */
const SOON_MS = 50;
const WAITED_FOR_MS = 100;
/** … and when all is quiet, after at most so long. */
const LATE_MS = 1_000;

/** Of all outputs together so much is brought at a time, at least a large block of each: 1 MiB. Other questions to the shell wait meanwhile. */
const MOST_BYTES = 1_048_576;

/** A job that has ended has written all when nothing has come for so long, though a child of it holds its output. */
const QUIET_MS = 150;

/** The end of a job is told so long after it at the latest, when what watches over it lives. */
const TOLD_MS = 1_500;

/** A connection that cannot be opened is tried again so often, and for so long, while jobs run: 15 s, 10 min. */
const AGAIN_MS = 15_000;
const GIVEN_UP_MS = 600_000;

export interface LastingOptions {
  readonly shells: Shells;
  readonly family: Family;
  /** Where output goes here that is too big for memory. */
  readonly outputFolder: string;
  /** Where it is, in a sentence. */
  readonly place: string;
}

/** Jobs: commands that live on over a lost connection. */
export interface Lasting {
  /** @throws ToolFailure when it cannot be started. */
  start(command: Command, cwd: string): Promise<Process>;
  /** Nothing is asked any more. Who has not ended by now is `lost`. */
  stop(): void;
}

interface Job {
  readonly folder: string;
  readonly streams: readonly Stream[];
  lastGrownMs: number;
  goneSinceMs: number | undefined;
  /** It is over. `dropped`: bytes that were not kept there. */
  end(exit: Exit, dropped?: JobState["filled"]): void;
  /** Its end, and what is still to come of its output, is close. */
  isEnding: boolean;
}

/** An output on its way here. */
interface Stream {
  readonly file: OutputFile;
  readonly log: WritableOutputLog;
  /** Bytes of it that have come. */
  read: number;
}

interface Look {
  readonly state: JobState;
  readonly bytes: Buffer;
}

export function lastingJobs({ shells, family, outputFolder, place }: LastingOptions): Lasting {
  const running = new Set<Job>();
  let numbers = 0;
  let waiting = 0;
  let wakeUp = new AbortController();
  let looking: Promise<void> | undefined;
  const stopped = new AbortController();

  const wake = () => {
    wakeUp.abort();
    wakeUp = new AbortController();
  };

  /** One look at all of them. Says after how many milliseconds the next may tell more; `undefined`: all is quiet. */
  const look = async (): Promise<number | undefined> => {
    const jobs = [...running];
    const asked = jobs.flatMap((job) => job.streams.map((stream) => ({ job, ...stream })));
    const share = Math.max(1, Math.floor(MOST_BYTES / LARGE_BLOCK / asked.length)) * LARGE_BLOCK;
    const answers = await lookAt(
      shells.ask,
      asked.map(({ job: { folder }, file, read, log }) => ({
        folder,
        file,
        from: read,
        bytes: log.isBehind ? 0 : share,
      })),
    );
    const ofJob = (job: Job) => answers.filter((_, index) => asked[index]?.job === job);
    const changed = jobs.map((job) => take(job, ofJob(job))).some(Boolean);
    const isMore = answers.some(({ bytes }) => bytes.length >= share);
    return isMore ? 0 : changed ? SOON_MS : undefined;
  };

  const take = (job: Job, looks: readonly Look[]): boolean => {
    const [first] = looks; // what it says was so before anything was read
    if (first === undefined || !running.has(job)) return false;
    const { state } = first;
    const now = performance.now();
    for (const [index, stream] of job.streams.entries()) {
      const bytes = looks[index]?.bytes ?? Buffer.alloc(0);
      if (bytes.length === 0) continue;
      stream.read += bytes.length;
      job.lastGrownMs = now;
      stream.log.write(bytes);
    }
    const isGrowing = looks.some(({ bytes }) => bytes.length > 0);
    const hasCome = !isGrowing && !job.streams.some(({ log }) => log.isBehind);
    if (state.isRemoved) job.end({ how: "lost", reason: "its folder there was removed" });
    else if (state.exit !== undefined) {
      // Quiet counts from here: what it wrote last may be on its way into the file.
      if (!job.isEnding) job.lastGrownMs = now;
      job.isEnding = true;
      if (!hasCome) return true;
      const isFilled = job.streams.every(({ file }) => state.filled[file] !== undefined);
      if (isFilled || now - job.lastGrownMs >= QUIET_MS)
        job.end({ how: "exited", code: state.exit.code }, state.filled);
    } else if (state.isGone) {
      if (job.goneSinceMs === undefined) job.lastGrownMs = now;
      job.goneSinceMs ??= now;
      job.isEnding = true;
      if (now - job.goneSinceMs >= TOLD_MS) job.end({ how: "lost", reason: "what watched over it there has died too" });
    }
    return isGrowing || job.isEnding;
  };

  const lookOn = async () => {
    let wait = SOON_MS;
    let failingSince: number | undefined;
    while (running.size > 0) {
      try {
        const soon = await look();
        failingSince = undefined;
        const most = [...running].some((job) => job.isEnding) ? SOON_MS : waiting > 0 ? WAITED_FOR_MS : LATE_MS;
        wait = soon ?? Math.min(1.4 * Math.max(wait, SOON_MS), most);
        await pause(wait, wakeUp.signal);
        if (wakeUp.signal.aborted) wait = SOON_MS;
      } catch (error) {
        failingSince ??= performance.now();
        const isHopeless =
          stopped.signal.aborted ||
          (error instanceof Unreachable && !error.mayPass) ||
          performance.now() - failingSince > GIVEN_UP_MS;
        if (isHopeless) return loseAll(error);
        await pause(AGAIN_MS, stopped.signal);
      }
    }
  };
  const loseAll = (error: unknown) => {
    const reason = stopped.signal.aborted
      ? "the backend was closed"
      : `${messageOf(error)}; whether it still runs there nobody can say`;
    for (const job of running) job.end({ how: "lost", reason });
  };
  const lookWhileAnyRuns = () => {
    looking ??= lookOn().finally(() => {
      looking = undefined;
      if (running.size > 0) lookWhileAnyRuns();
    });
    wake();
  };

  return {
    async start(command, cwd) {
      const [program] = command.argv;
      const { stdin } = command;
      if (command.signal?.aborted) throw new ToolFailure(`${program} was stopped before it was started`);
      const parent = await family.folder().catch((error: unknown) => {
        throw new ToolFailure(`cannot start ${program}: there is no folder for it there: ${messageOf(error)}`, {
          cause: error,
        });
      });
      const folder = `${parent}/${++numbers}`;
      const { mark } = family.lasting();
      const { pid } = await startInFolder(shells, command, { folder, mark, cwd });
      const streams = outputFilesOf(command).map((file): Stream => {
        return { file, log: createOutputLog({ folder: outputFolder }), read: 0 };
      });
      const [output, errors] = streams.map(({ log }) =>
        watched(log, { begin: () => (waiting++, wake()), end: () => waiting-- }),
      );
      if (output === undefined) throw new Error("a command has an output");

      let isOver = false;
      const killing = async () => {
        while (!isOver) {
          const done = await endThere(shells, mark, pid).then(
            () => true,
            () => false, // there is no connection just now
          );
          lookWhileAnyRuns();
          if (done || stopped.signal.aborted) return;
          await pause(LATE_MS, stopped.signal);
        }
      };
      const stopping = stoppingOf(command, killing);
      const exit = new Promise<Exit>((resolve) => {
        const job: Job = {
          folder,
          streams,
          lastGrownMs: performance.now(),
          goneSinceMs: undefined,
          isEnding: false,
          end(how, dropped = {}) {
            running.delete(job);
            isOver = true;
            void (async () => {
              await stopping.settled();
              stopping.over();
              await Promise.all(streams.map(({ file, log }) => log.end(dropped[file])));
              const own = how.how === "exited" ? exitOf(how.code, stopping.wasStopped) : how;
              resolve(stopping.stoppedAs ?? own);
              // A FIFO lets go of whoever still waits to write into it when it is opened both ways.
              await shells
                .ask(
                  `[ ! -p ${quoteWord(`${folder}/in`)} ] || : <>${quoteWord(`${folder}/in`)}; rm -rf ${quoteWord(folder)}`,
                )
                .catch(() => undefined);
            })();
          },
        };
        running.add(job);
      });
      lookWhileAnyRuns();

      const input = stdin === "pipe" ? inputOf({ shells, folder, place, exit }) : undefined;
      return {
        id: pid,
        output,
        errors,
        exit,
        async write(text) {
          if (input === undefined) throw new ToolFailure("this process has no stdin: it was started with stdin closed");
          await input.write(text);
          wake();
        },
        async endInput() {
          await input?.end();
          wake();
        },
        async kill() {
          await stopping.stop();
          await exit;
        },
      };
    },
    stop() {
      stopped.abort();
      wake();
      if (running.size > 0 && looking === undefined) loseAll(undefined);
    },
  };
}

/** The log, and it is known when somebody waits for what comes next. */
function watched(log: WritableOutputLog, somebodyWaits: { begin(): void; end(): void }): OutputLog {
  const { begin, end } = somebodyWaits;
  return {
    get size() {
      return log.size;
    },
    get kept() {
      return log.kept;
    },
    tail: log.tail,
    read: log.read,
    async grown(beyond, signal) {
      begin();
      await log.grown(beyond, signal).finally(end);
    },
    async *follow(signal) {
      begin();
      try {
        yield* log.follow(signal);
      } finally {
        end();
      }
    },
    dispose: log.dispose,
  };
}
