import type { OutputLog } from "../contract/backend.ts";
import { bell } from "../util/promises.ts";
import { byteQueue } from "./byte-queue.ts";

/**
 * The output of a program with which messages are exchanged. Bytes are only in memory, and only until they are read.
 */
export interface LiveLog extends OutputLog {
  /** Adds a copy of the bytes. Returns false if the writer should wait for `drained`. Never throws. */
  write(chunk: Uint8Array): boolean;
  /** Resolves when the writer may continue. */
  drained(): Promise<void>;
  /** Ends the log. Followers still get the queued bytes. */
  end(): void;
}

/** How many bytes may wait for a reader. 1 MiB. */
const MOST_WAITING = 1_048_576;
/** How many bytes are kept of the end of an output that need not be read. 64 KiB. */
const KEPT_OF_END = 65_536;

/**
 * Creates a log that returns each chunk once. "queue": the program waits until its output is read. "end": the program
 * never waits, and only the last 64 KiB are kept. Reading any range returns what is waiting.
 */
export function createLiveLog(kind: "queue" | "end"): LiveLog {
  const waiting = byteQueue();
  let size = 0;
  let isEnded = false;
  const { next: change, ring: changed } = bell();
  const until = async (isSo: () => boolean, signal?: AbortSignal) => {
    signal?.addEventListener("abort", changed);
    while (!isSo() && !isEnded && signal?.aborted !== true) await change();
    signal?.removeEventListener("abort", changed);
  };
  const end = () => {
    isEnded = true;
    changed();
  };

  return {
    get size() {
      return size;
    },
    get kept() {
      return waiting.size;
    },
    write(chunk) {
      if (isEnded) return true;
      size += chunk.length;
      waiting.add(chunk);
      if (kind === "end" && waiting.size > 2 * KEPT_OF_END) waiting.drop(waiting.size - KEPT_OF_END);
      changed();
      return kind === "end" || waiting.size < MOST_WAITING;
    },
    drained: () => until(() => waiting.size < MOST_WAITING),
    end,
    tail: async (bytes) => waiting.copy(Math.max(0, waiting.size - bytes), waiting.size),
    read: async () => waiting.copy(0, waiting.size),
    grown: (beyond, signal) => until(() => size > beyond, signal),
    async *follow(signal) {
      for (;;) {
        await until(() => waiting.size > 0, signal);
        if (signal?.aborted === true || waiting.size === 0) return;
        const chunk = waiting.copy(0, waiting.size);
        waiting.drop(waiting.size);
        changed();
        yield chunk;
      }
    },
    async dispose() {
      end();
      waiting.drop(waiting.size);
    },
  };
}
