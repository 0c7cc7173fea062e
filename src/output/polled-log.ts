import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { pause, untilAborted } from "../util/abort.ts";

/** How often an output is looked at that somebody waits for. */
const LOOK_MS = 100;

/** `follow` reads and hands out at most this much at a time, unless told otherwise: 64 KiB. */
const CHUNK = 64 * 1024;

/** An output that another process writes and nobody tells of, wherever it is. */
export interface PolledOutput {
  /** As in `OutputLog`, as far as it is known at once. */
  readonly size: number;
  readonly kept: number;
  /** How many bytes are kept now, and whether no more can come: then these are all. Rejects with a `ToolFailure`. */
  look(): Promise<{ readonly kept: number; readonly isOver: boolean }>;
  /** Bytes `start` (inclusive) to `end` (exclusive), 0 <= start < end; fewer where it ends. Rejects with a `ToolFailure`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Called when the log is disposed of. Never rejects. Default: the output stays where it is. */
  dispose?(): Promise<void>;
}

/** A log that looks at an output again and again while somebody waits for more. */
export function polledLog(output: PolledOutput, { chunk = CHUNK }: { readonly chunk?: number } = {}): OutputLog {
  let disposed = false;

  const read = async (start: number, end: number): Promise<Uint8Array> => {
    if (disposed) throw new ToolFailure("this output is gone: its log was disposed of");
    const from = Math.max(0, Math.trunc(start));
    const to = Math.trunc(end);
    return from < to ? output.read(from, to) : new Uint8Array(0);
  };

  /** How many bytes are kept when there are more than so many, or no more come; so many when nobody waits any more. Rejects where it cannot be looked at. */
  const keptBeyond = async (beyond: number, signal?: AbortSignal): Promise<number> => {
    while (!disposed && !signal?.aborted) {
      const seen = await unlessAborted(output.look(), signal);
      if (seen !== undefined && (seen.kept > beyond || seen.isOver)) return seen.kept;
      await pause(LOOK_MS, signal);
    }
    return beyond;
  };

  return {
    get size() {
      return output.size;
    },
    get kept() {
      return output.kept;
    },
    read,
    async tail(bytes) {
      const { kept } = await output.look();
      return read(kept - bytes, kept);
    },
    async grown(beyond, signal) {
      await keptBeyond(beyond, signal).catch(() => undefined); // it shows where it is read
    },
    async *follow(signal) {
      for (let position = 0, kept = 0; ;) {
        if (kept <= position) kept = await keptBeyond(position, signal);
        if (disposed || signal?.aborted || kept <= position) return;
        const bytes = await read(position, Math.min(kept, position + chunk));
        if (bytes.length === 0 || signal?.aborted) return;
        position += bytes.length;
        yield bytes;
      }
    },
    async dispose() {
      if (disposed) return;
      disposed = true;
      await output.dispose?.();
    },
  };
}

/** `undefined` as soon as the signal fires. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return work;
  return untilAborted(work, signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
}
