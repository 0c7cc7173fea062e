import { LONGEST_TIMER_MS } from "./keeping-alive.ts";

/** A timer that several set: the earliest time counts. */
export interface Soonest {
  /** Runs the work after this time, in milliseconds, or earlier if that was asked for. At most 24 days. */
  in(milliseconds: number): void;
  stop(): void;
}

/** Creates a timer for the work. It keeps no process alive. */
export function soonest(work: () => void): Soonest {
  let timer: NodeJS.Timeout | undefined;
  let dueMs = 0;
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    in(milliseconds) {
      const at = performance.now() + milliseconds;
      if (timer !== undefined && dueMs <= at) return;
      stop();
      dueMs = at;
      const fire = () => {
        timer = undefined;
        work();
      };
      timer = setTimeout(fire, Math.min(Math.max(0, milliseconds), LONGEST_TIMER_MS)).unref();
    },
    stop,
  };
}
