import type { ActivityEvent, CallEvent } from "../../core/contract/activity.ts";
import type { Job } from "../../core/contract/job.ts";
import { pause } from "../../core/util/abort.ts";

/** How long the output of a job is recorded after a request, in milliseconds. */
const WATCHED_MS = 30_000;
/** The shortest time between two records, in milliseconds. */
const LOOK_MS = 1_000;
/** How much of the end of an output is recorded, in bytes. */
const TAIL_BYTES = 4_096;

/** Records the last lines of jobs while people watch them in other processes. */
export interface JobTails {
  /** Handles a `job.watched` event for a job of this process. */
  watch(job: Job, by: Pick<CallEvent, "call" | "thread">): void;
  close(): void;
}

export function createJobTails(record: (event: ActivityEvent) => void): JobTails {
  /** By job id: until when it is watched, in milliseconds since 1970, and whether somebody waits for a record. */
  const watched = new Map<string, { untilMs: number; isAwaited: boolean }>();
  const closing = new AbortController();

  const recordWhileWatched = async (job: Job, { call, thread }: Pick<CallEvent, "call" | "thread">) => {
    const { id, process } = job;
    for (let recorded = -1; !closing.signal.aborted;) {
      const request = watched.get(id);
      if (request === undefined || request.untilMs < Date.now()) return;
      const isEnded = job.ended !== undefined;
      const { kept } = process.output;
      if (kept !== recorded || request.isAwaited) {
        request.isAwaited = false;
        const text = wholeLines(await process.output.tail(TAIL_BYTES), kept);
        record({ type: "job.output", call, thread, at: Date.now(), job: id, text });
        recorded = kept;
      }
      if (isEnded) return;
      await pause(LOOK_MS, closing.signal, { keepsAlive: false });
    }
  };

  return {
    watch(job, by) {
      const isNew = !watched.has(job.id);
      watched.set(job.id, { untilMs: Date.now() + WATCHED_MS, isAwaited: true });
      if (!isNew) return;
      const done = recordWhileWatched(job, by).catch(() => {}); // the job's output is gone, or the toolkit was closed
      void done.then(() => watched.delete(job.id));
    },
    close: () => closing.abort(),
  };
}

/** Omits the first line if its beginning is missing, because half a secret would not be masked. */
function wholeLines(bytes: Uint8Array, size: number): string {
  const text = new TextDecoder().decode(bytes);
  return size <= bytes.length ? text : text.slice(text.indexOf("\n") + 1);
}
