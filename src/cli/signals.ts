import { LONGEST_TIMER_MS } from "../core/util/keeping-alive.ts";
import type { Io } from "./io.ts";

/** How long a command waits for plugins and MCP servers, in milliseconds. */
export const START_MS = 60_000;

/**
 * Returns a signal that fires when the process is asked to end (Ctrl-C, TERM, a closed terminal). A second request ends
 * the process at once. Until it is released, the process does not end by itself: a process that waits for changes of
 * the store has nothing else to do.
 */
export function untilStopped({ signals, exit }: Io): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) exit(name === "SIGINT" ? 130 : 143);
    controller.abort(new Error(`stopped by ${name}`));
  };
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) signals.on(name, stop);
  const keepAlive = setInterval(() => {}, LONGEST_TIMER_MS);
  return {
    signal: controller.signal,
    release() {
      clearInterval(keepAlive);
      for (const name of names) signals.off(name, stop);
    },
  };
}
