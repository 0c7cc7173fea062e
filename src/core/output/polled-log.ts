import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { pause, untilAborted } from "../util/abort.ts";

/** How often an awaited output is polled. Milliseconds. */
const LOOK_MS = 100;

/** The default size of the chunks that `follow` reads: 64 KiB. */
const CHUNK = 64 * 1024;

/** An output that another process writes without sending notifications. */
export interface PolledOutput {
  /** As in `OutputLog`, as far as it is known without waiting. */
  readonly size: number;
  readonly kept: number;
  /** Resolves to how many bytes are kept now, and whether more can follow. Rejects with a `ToolFailure`. */
  look(): Promise<{ readonly kept: number; readonly isOver: boolean }>;
  /** Returns bytes `start` to `end` (exclusive), 0 <= start < end; fewer at the end. Rejects with a `ToolFailure`. */
  read(start: number, end: number): Promise<Uint8Array>;
  /** Called when the log is disposed. Never rejects. Default: the output is not removed. */
  dispose?(): Promise<void>;
}

/** Creates a log that polls an output while a reader waits for more. */
export function polledLog(output: PolledOutput, { chunk = CHUNK }: { readonly chunk?: number } = {}): OutputLog {
  let disposed = false;

  const read = async (start: number, end: number): Promise<Uint8Array> => {
    if (disposed) throw new ToolFailure("this output is gone: its log was disposed of");
    const from = Math.max(0, Math.trunc(start));
    const to = Math.trunc(end);
    return from < to ? output.read(from, to) : new Uint8Array(0);
  };

  /** Resolves to the bytes once there are more or the output has ended; to `beyond` on abort. May reject. */
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
      await keptBeyond(beyond, signal).catch(() => undefined); // a failure is reported by the next read
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

/** Resolves to `undefined` as soon as the signal fires. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return work;
  return untilAborted(work, signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
}
