import type { Command, Exit } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";

/** The longest timeout of a timer: almost 25 days. A longer one would fire at once. Milliseconds. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The reason of "lost" for a process that could not be stopped. */
export const UNSTOPPABLE =
  "it could not be stopped: it may belong to another user (sudo) or hang in the kernel, and may still be running";

/** Stops a process before its end. */
export interface Stopping {
  /** Ends the process at the first call; later calls have no effect. Resolves when that is done. Never rejects. */
  stop(as?: Exit): Promise<void>;
  /** The exit to report for a stopped process. `undefined`: the real one. */
  readonly stoppedAs: Exit | undefined;
  readonly wasStopped: boolean;
  /** Disables timeout and signal. Resolves when a stop that is in progress is done. */
  settled(): Promise<void>;
  /** Call it when the process has ended: nothing stops it any more. */
  over(): void;
}

/** Stops a command at its timeout, at its signal, and on request. `end` ends it; it must never reject. */
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

/** @throws ToolFailure for a command that was stopped before its start. */
export function requireUnstopped({ argv, signal }: Pick<Command, "argv" | "signal">): void {
  if (signal?.aborted) throw new ToolFailure(`${argv[0]} was stopped before it was started`);
}

/** Creates the error of a closed backend. */
export function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed and starts nothing any more");
}
