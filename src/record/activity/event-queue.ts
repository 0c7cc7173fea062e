import type { EventRow } from "./event-rows.ts";
import { mergeUpdates } from "./updates.ts";
import { type Wake, createWake } from "../../core/util/wake.ts";

/** Rows per transaction. They take some 6 ms, after which the event loop gets a turn. */
export const BATCH_ROWS = 500;

/** A promise that settles with a commit. */
export interface Commit {
  resolve(): void;
  reject(error: Error): void;
}

/** The events of one transaction. */
export interface Batch {
  readonly rows: readonly EventRow[];
  /** Whether an event of the batch was committed with `commit`. */
  readonly durable: boolean;
  /** The queue's number of the batch's last event. */
  readonly last: number;
}

/** The events that wait to be written, in order. */
export interface EventQueue {
  readonly length: number;
  /** The size of the waiting events, in characters of JSON. */
  readonly size: number;
  push(row: EventRow, commit: Commit | undefined): void;
  /** Returns the oldest events, which stay in the queue until `written`. */
  batch(): Batch;
  /** Removes the written events up to this number, and settles their commits. */
  written(last: number): void;
  /**
   * Rejects all commits and withdraws their events: a caller that gets the error does not act, so it must not appear to
   * have acted. Other events stay in the queue.
   */
  failed(error: Error): void;
  /** Resolves when the events that wait now are written, or could not be written. */
  settled(): Promise<void>;
}

interface Waiting {
  readonly number: number;
  readonly row: EventRow;
  readonly commit: Commit | undefined;
  settled: Wake | undefined;
}

export function createEventQueue(): EventQueue {
  let waiting: Waiting[] = [];
  let size = 0;
  let pushed = 0;

  return {
    get length() {
      return waiting.length;
    },
    get size() {
      return size;
    },
    push(row, commit) {
      waiting.push({ number: ++pushed, row, commit, settled: undefined });
      size += row.body.length;
    },
    batch() {
      const batch = waiting.slice(0, BATCH_ROWS);
      const rows = mergeUpdates(
        batch.map(({ row }) => row),
        (index) => batch[index]?.commit === undefined,
      );
      return { rows, durable: batch.some(({ commit }) => commit !== undefined), last: batch.at(-1)?.number ?? 0 };
    },
    written(last) {
      const next = waiting.findIndex(({ number }) => number > last);
      const count = next === -1 ? waiting.length : next;
      const gone = waiting.slice(0, count);
      waiting = waiting.slice(count);
      for (const { row, commit, settled } of gone) {
        size -= row.body.length;
        commit?.resolve();
        settled?.resolve();
      }
    },
    failed(error) {
      const before = waiting;
      waiting = before.filter(({ commit }) => commit === undefined);
      size = waiting.reduce((sum, { row }) => sum + row.body.length, 0);
      for (const { commit, settled } of before) {
        commit?.reject(error);
        settled?.resolve();
      }
    },
    async settled() {
      const last = waiting.at(-1);
      if (last === undefined) return;
      last.settled ??= createWake();
      await last.settled.untilResolved(undefined);
    },
  };
}
