import { type FileHandle, open, stat } from "node:fs/promises";
import { statSync } from "node:fs";
import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { pause } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";
import { readRange } from "../util/private-file.ts";

/** How often a file that is followed is looked at. */
const LOOK_MS = 100;

const CHUNK = 64 * 1024;

/** The output of a process that another process writes to a file. `hasEnded` says whether more may come. */
export function fileLog(path: string, hasEnded: () => Promise<boolean>): OutputLog {
  let disposed = false;

  const size = () => {
    try {
      return statSync(path).size;
    } catch {
      return 0;
    }
  };

  const read = async (start: number, end: number): Promise<Uint8Array> => {
    if (disposed) throw new ToolFailure("this output is gone: its log was disposed of");
    let file: FileHandle | undefined;
    try {
      file = await open(path);
      const { size: there } = await file.stat();
      const from = Math.max(0, Math.min(start, there));
      return await readRange(file, from, Math.max(0, Math.min(end, there) - from));
    } catch (error) {
      throw new ToolFailure(`the file of this output could not be read: ${messageOf(error)}`, { cause: error });
    } finally {
      await file?.close();
    }
  };

  const grown = async (beyond: number, signal?: AbortSignal) => {
    while (!disposed && !signal?.aborted) {
      // In this order: what came before the end is not overlooked.
      const ended = await hasEnded();
      if (size() > beyond || ended) return;
      await pause(LOOK_MS, signal);
    }
  };

  return {
    get size() {
      return size();
    },
    get kept() {
      return size();
    },
    read,
    tail: async (bytes) => {
      const { size: there } = await stat(path).catch(() => ({ size: 0 }));
      return read(there - bytes, there);
    },
    grown,
    async *follow(signal) {
      for (let position = 0; ;) {
        await grown(position, signal);
        if (disposed || signal?.aborted) return;
        const chunk = await read(position, position + CHUNK);
        if (chunk.length === 0) return;
        position += chunk.length;
        yield chunk;
      }
    },
    async dispose() {
      disposed = true; // the file belongs to the process
    },
  };
}
