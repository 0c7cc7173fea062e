import { statSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import type { OutputLog } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { messageOf } from "../util/errors.ts";
import { readRange } from "../util/private-file.ts";
import { polledLog } from "./polled-log.ts";

/** The output of a process that another process writes to a file. `hasEnded` says whether no more comes. The file stays when the log is disposed of. */
export function fileLog(path: string, hasEnded: () => Promise<boolean>): OutputLog {
  const size = () => {
    try {
      return statSync(path).size;
    } catch {
      return 0; // it shows where it is read
    }
  };
  return polledLog({
    get size() {
      return size();
    },
    get kept() {
      return size();
    },
    async look() {
      const isOver = await hasEnded(); // first, so that what came before the end is not overlooked
      const { size: kept } = await stat(path).catch(unreadable);
      return { kept, isOver };
    },
    async read(start, end) {
      let file: FileHandle | undefined;
      try {
        file = await open(path);
        const { size: there } = await file.stat();
        return await readRange(file, start, Math.max(0, Math.min(end, there) - start));
      } catch (error) {
        return unreadable(error);
      } finally {
        await file?.close();
      }
    },
  });
}

function unreadable(error: unknown): never {
  throw new ToolFailure(`the file of this output could not be read: ${messageOf(error)}`, { cause: error });
}
