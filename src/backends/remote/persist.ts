import { Unreachable } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { messageOf } from "../../util/errors.ts";

/** A connection that cannot be opened is tried again so often, and for so long: 15 s, 10 min. */
const AGAIN_MS = 15_000;
const GIVEN_UP_MS = 600_000;

export interface Persistence {
  readonly stopped: AbortSignal;
  /** Given the signal that ends the waiting for the next attempt. Default: `stopped`. */
  readonly wakeUp?: () => AbortSignal;
  /** Whether the waiting keeps our process alive. Default true. */
  readonly keepsAlive?: boolean;
}

/**
 * Does what needs a connection, and does it again where there is none, until it is done.
 *
 * @throws what it failed with at last: when it is stopped, when there will never be a connection, and after 10 minutes.
 */
export async function persistently<T>(
  work: () => Promise<T>,
  { stopped, wakeUp = () => stopped, keepsAlive = true }: Persistence,
): Promise<T> {
  let failingSinceMs: number | undefined;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      failingSinceMs ??= performance.now();
      const isHopeless = error instanceof Unreachable && !error.mayPass;
      if (isHopeless || stopped.aborted || performance.now() - failingSinceMs > GIVEN_UP_MS) throw error;
      await pause(AGAIN_MS, wakeUp(), { keepsAlive });
    }
  }
}

/** Why nothing more is known of a process there, when that failed for good. */
export function nobodyKnows(error: unknown): string {
  return `${messageOf(error)}; whether it still runs there nobody can say`;
}
