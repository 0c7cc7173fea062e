import type { EventRow } from "./event-rows.ts";
import { mergeUpdates } from "./updates.ts";
import { type Wake, createWake } from "./wake.ts";

/** Rows of one transaction: some 6 ms of work, after which the event loop has a turn. */
export const BATCH_ROWS = 500;

/** Whoever committed an event waits for one of these. */
export interface Commit {
  resolve(): void;
  reject(error: Error): void;
}

/** What one transaction writes. */
export interface Batch {
  readonly rows: readonly EventRow[];
  /** Somebody has committed one of them. */
  readonly durable: boolean;
  /** How many that waited are in it. */
  readonly count: number;
}

/** Events that wait to be written, in their order. */
export interface EventQueue {
  readonly length: number;
  /** Of what waits, in characters of JSON. */
  readonly size: number;
  push(row: EventRow, commit: Commit | undefined): void;
  /** What has waited longest. It goes on waiting until it is `written`. */
  batch(): Batch;
  /** So many have been written; those who committed them are told. */
  written(count: number): void;
  /**
   * Nothing could be written. Those who committed are told, and their events withdrawn: whoever is told so does not act, and must not
   * seem to have. The others go on waiting.
   */
  failed(error: Error): void;
  /** Resolves when what waits now is written, or could not be. */
  settled(): Promise<void>;
}

interface Waiting {
  readonly row: EventRow;
  readonly commit: Commit | undefined;
  settled: Wake | undefined;
}

export function createEventQueue(): EventQueue {
  let waiting: Waiting[] = [];
  let size = 0;

  return {
    get length() {
      return waiting.length;
    },
    get size() {
      return size;
    },
    push(row, commit) {
      waiting.push({ row, commit, settled: undefined });
      size += row.body.length;
    },
    batch() {
      const batch = waiting.slice(0, BATCH_ROWS);
      const rows = mergeUpdates(
        batch.map(({ row }) => row),
        (index) => batch[index]?.commit === undefined,
      );
      return { rows, durable: batch.some(({ commit }) => commit !== undefined), count: batch.length };
    },
    written(count) {
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
