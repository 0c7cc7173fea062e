import { setImmediate as nextTurn } from "node:timers/promises";
import type { WritableOutputLog } from "../../output/log.ts";
import { pause } from "../../util/abort.ts";
import type { Streaming } from "./shell.ts";
import type { Shells } from "./shells.ts";

/** After a command has ended a child of its in the background may hold its output. All that it wrote itself has come when nothing has for so long … */
const QUIET_MS = 100;
/** … or when so much more has: 4 MiB. */
const ENOUGH = 4_194_304;

const LOOK_MS = 20;

/** What a command writes, on its way into logs. */
export interface Flow {
  take(log: WritableOutputLog, chunk: Buffer): void;
  /** Resolves when what the command wrote has come, though somebody holds its output, or when the signal fires. Asked when it has ended. */
  held(signal: AbortSignal): Promise<"held">;
}

/** Takes what is streamed; who writes faster than the disk here waits. */
export function flowInto(streaming: Streaming, shells: Pick<Shells, "ask">): Flow {
  let bytes = 0;
  let lastMs = performance.now();
  let waiting = 0;

  const holdBack = async (log: WritableOutputLog) => {
    if (waiting++ === 0) streaming.pause();
    await log.drained();
    if (--waiting === 0) streaming.resume();
  };
  const isQuiet = () => waiting === 0 && performance.now() - lastMs >= QUIET_MS;

  return {
    take(log, chunk) {
      bytes += chunk.length;
      lastMs = performance.now();
      if (log.ended) return;
      log.write(chunk);
      if (log.isBehind) void holdBack(log);
    },
    async held(signal) {
      lastMs = performance.now();
      const enough = bytes + ENOUGH;
      while (bytes < enough && !signal.aborted) {
        await pause(LOOK_MS, signal);
        await nextTurn(); // timers come before input: when we were busy for long, there may be some unread
        if (!isQuiet() || signal.aborted) continue;
        const before = bytes;
        // What was on its way when it was asked has come with the answer. Without a connection nothing comes any more.
        await shells.ask(":").catch(() => undefined);
        await nextTurn();
        if (bytes === before && waiting === 0) break;
      }
      return "held";
    },
  };
}
