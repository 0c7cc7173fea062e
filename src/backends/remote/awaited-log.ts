import type { OutputLog } from "../../contract/backend.ts";
import type { WritableOutputLog } from "../../output/log.ts";

/** The log for those who read it; `awaited` is called when somebody begins to wait for what comes next, and what it returns when he no longer does. */
export function awaitedLog(log: WritableOutputLog, awaited: () => () => void): OutputLog {
  return {
    get size() {
      return log.size;
    },
    get kept() {
      return log.kept;
    },
    tail: log.tail,
    read: log.read,
    async grown(beyond, signal) {
      if (log.kept > beyond) return;
      await log.grown(beyond, signal).finally(awaited());
    },
    async *follow(signal) {
      const end = awaited();
      try {
        yield* log.follow(signal);
      } finally {
        end();
      }
    },
    dispose: log.dispose,
  };
}
