import type { Exit } from "../../contract/backend.ts";
import type { WritableOutputLog } from "../../output/log.ts";
import { pause } from "../../util/abort.ts";
import { fateJudge } from "../fate.ts";
import { drainJudge } from "./drained.ts";
import type { OutputFile } from "./job-folder.ts";
import { type JobState, LARGE_BLOCK, type Look, type Question, fateOf, lookAt } from "./job-state.ts";
import { nobodyKnows, persistently } from "./persist.ts";
import type { Shells } from "./shells.ts";

/** While something comes, or somebody waits for it, it is looked again after so long … */
const SOON_MS = 50;
const WAITED_FOR_MS = 100;
/** … and when all is quiet, after at most so long. */
const LATE_MS = 1_000;

/** Of all outputs together so much is brought at a time, at least a large block of each: 1 MiB. Other questions to the shell wait meanwhile. */
const MOST_BYTES = 1_048_576;

/** A job there, and where its output goes here. */
export interface WatchedJob {
  readonly folder: string;
  readonly streams: readonly { readonly file: OutputFile; readonly log: WritableOutputLog }[];
  /** It is over, and all that it wrote is in the logs. Called once. */
  over(ended: Ended): void;
}

export interface Ended {
  readonly exit: Exit;
  /** Bytes that were not kept there. */
  readonly dropped: JobState["filled"];
}

/** Looks at all jobs at once, as often as it is worth it, and brings what they write. */
export interface JobWatch {
  add(job: WatchedJob): void;
  /** Looks at once: something may have changed. */
  wake(): void;
  /** Somebody waits for output, until the function is called that this returns. */
  awaited(): () => void;
  /** Gives up at the next look that fails. Who has not ended by then is lost. */
  stop(): void;
}

export function watchJobs(shells: Pick<Shells, "ask">): JobWatch {
  const running = new Set<Following>();
  const stopped = new AbortController();
  let waiting = 0;
  let wakeUp = new AbortController();
  let looking: Promise<void> | undefined;

  /** One look at all of them. Says after how many milliseconds the next may tell more; `undefined`: all is quiet. */
  const look = async (): Promise<number | undefined> => {
    const jobs = [...running];
    const streams = jobs.reduce((count, job) => count + job.streams, 0);
    const share = Math.max(1, Math.floor(MOST_BYTES / LARGE_BLOCK / streams)) * LARGE_BLOCK;
    const asked = jobs.map((job) => job.questions(share));
    const answers = [...(await lookAt(shells.ask, asked.flat()))];
    const progress = jobs.map((job, index) => job.take(answers.splice(0, asked[index]?.length)));
    if (progress.includes("more")) return 0;
    return progress.includes("some") ? SOON_MS : undefined;
  };

  const lookOn = async () => {
    let wait = SOON_MS;
    try {
      while (running.size > 0) {
        const { signal } = wakeUp;
        const next = await persistently(look, { stopped: stopped.signal, wakeUp: () => wakeUp.signal });
        const most = waiting > 0 ? WAITED_FOR_MS : LATE_MS;
        wait = next ?? Math.min(1.4 * Math.max(wait, SOON_MS), most);
        await pause(wait, signal);
        if (signal.aborted) wait = SOON_MS;
      }
    } catch (error) {
      loseAll(stopped.signal.aborted ? "the backend was closed" : nobodyKnows(error));
    }
  };
  const loseAll = (reason: string) => {
    for (const job of running) job.lose(reason);
  };
  const lookWhileAnyRuns = () => {
    looking ??= lookOn().finally(() => {
      looking = undefined;
      if (running.size > 0) lookWhileAnyRuns();
    });
  };
  const wake = () => {
    wakeUp.abort();
    wakeUp = new AbortController();
  };

  return {
    add(job) {
      const following = follow({
        ...job,
        over(ended) {
          running.delete(following);
          job.over(ended);
        },
      });
      running.add(following);
      if (looking === undefined) lookWhileAnyRuns();
      else wake();
    },
    wake,
    awaited() {
      waiting++;
      wake();
      return () => waiting--;
    },
    stop() {
      stopped.abort();
      wake();
    },
  };
}

/** What a look has brought of a job: as much as was asked for, so that there may be more at once; some, or its end is near; or nothing. */
type Progress = "more" | "some" | "nothing";

/** One job that is looked at. */
interface Following {
  readonly streams: number;
  /** What is asked of it at the next look: of each stream up to so many bytes. */
  questions(share: number): readonly Question[];
  /** Takes the answers. */
  take(looks: readonly Look[]): Progress;
  lose(reason: string): void;
}

function follow({ folder, streams, over }: WatchedJob): Following {
  const judge = fateJudge();
  const isDrained = drainJudge();
  const read = streams.map(() => 0);
  let asked: readonly Question[] = [];
  let isOver = false;

  const end = (ended: Ended) => {
    if (isOver) return;
    isOver = true;
    over(ended);
  };
  return {
    streams: streams.length,
    questions(share) {
      asked = streams.map(({ file, log }, index) => ({
        folder,
        file,
        from: read[index] ?? 0,
        bytes: log.isBehind ? 0 : share, // its disk comes first
      }));
      return asked;
    },
    take(looks) {
      const [first] = looks; // what it says was so before anything was read
      if (first === undefined || isOver) return "nothing";
      const { state } = first;
      for (const [index, { log }] of streams.entries()) {
        const bytes = looks[index]?.bytes ?? Buffer.alloc(0);
        read[index] = (read[index] ?? 0) + bytes.length;
        if (bytes.length > 0) log.write(bytes);
      }
      const isGrowing = looks.some(({ bytes }) => bytes.length > 0);
      const isMore = looks.some(({ bytes }, index) => bytes.length > 0 && bytes.length >= (asked[index]?.bytes ?? 0));
      const fate = judge(fateOf(state));
      if (fate === "running") return isMore ? "more" : isGrowing ? "some" : "nothing";
      // Of a log that is behind nothing was asked.
      const hasCome = !isMore && asked.every(({ bytes }) => bytes > 0);
      const isFilled = streams.every(({ file }) => state.filled[file] !== undefined);
      const isWhole = state.isRemoved || (hasCome && isDrained({ isFilled, isGrowing }));
      if (fate !== "gone" && isWhole) end({ exit: fate.exit, dropped: state.filled });
      return isMore ? "more" : "some";
    },
    lose: (reason) => end({ exit: { how: "lost", reason }, dropped: {} }),
  };
}
