import type { Command, Exit } from "../contract/backend.ts";

/** Timers take no more; they would fire at once. Nearly 25 days. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Why one that was stopped is lost all the same. */
export const UNSTOPPABLE =
  "it was stopped, but nothing ends it: it may be another user's (sudo), or hang in the system; it may go on";

/** What stops a process before its end. */
export interface Stopping {
  /** Ends it, the first time; what is given later changes nothing. Resolves when that is done. Never rejects. */
  stop(as?: Exit): Promise<void>;
  /** It was stopped, and this is what its end is called, when it is not called what it was. */
  readonly stoppedAs: Exit | undefined;
  readonly wasStopped: boolean;
  /** Resolves when nobody is stopping it. */
  settled(): Promise<void>;
  /** It has ended: nothing stops it any more. */
  over(): void;
}

/** Stops a command at its timeout and its signal, and when it is asked to. `end` ends it; it never rejects. */
export function stoppingOf(
  { timeoutMs, signal }: Pick<Command, "timeoutMs" | "signal">,
  end: () => Promise<void>,
): Stopping {
  const startedMs = Date.now();
  let isOver = false;
  let stoppedAs: Exit | undefined;
  let ending: Promise<void> | undefined;

  const stop = (as?: Exit): Promise<void> => {
    if (isOver) return Promise.resolve();
    if (ending === undefined) {
      stoppedAs = as;
      ending = end();
    }
    return ending;
  };
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => void stop({ how: "timed-out", afterMs: Date.now() - startedMs }),
          Math.min(timeoutMs, LONGEST_TIMEOUT_MS),
        );
  const onAbort = () => void stop({ how: "aborted" });
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();

  return {
    stop,
    get stoppedAs() {
      return stoppedAs;
    },
    get wasStopped() {
      return ending !== undefined;
    },
    async settled() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      await ending;
    },
    over() {
      isOver = true;
    },
  };
}
