import type { WritableOutputLog } from "../../output/log.ts";
import type { Streaming } from "./shell.ts";

/** What a command writes, on its way into logs. */
export interface Flow {
  take(log: WritableOutputLog, chunk: Buffer): void;
}

/** Takes what is streamed; who writes faster than the disk here waits. */
export function flowInto(streaming: Streaming): Flow {
  let waiting = 0;
  const holdBack = async (log: WritableOutputLog) => {
    if (waiting++ === 0) streaming.pause();
    await log.drained();
    if (--waiting === 0) streaming.resume();
  };
  return {
    take(log, chunk) {
      if (log.ended) return;
      log.write(chunk);
      if (log.isBehind) void holdBack(log);
    },
  };
}
