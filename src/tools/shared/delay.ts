import { Type } from "typebox";
import { ToolFailure } from "../../core/contract/failure.ts";
import { pause } from "../../core/util/abort.ts";
import { LONGEST_MS, parseDuration } from "./duration.ts";

/** The two arguments that delay a call. */
export const DELAY_ARGUMENTS = {
  delay: Type.Optional(Type.String({ description: 'Wait this long first: "500ms", "2s", "1m", "1h"' })),
  delay_ms: Type.Optional(Type.Integer({ minimum: 0, description: "The same in milliseconds; do not give both" })),
};

export interface Delay {
  readonly delay?: string;
  readonly delay_ms?: number;
}

/** The delay in whole milliseconds, 0 for none; or what is wrong with it. */
export function readDelay({ delay, delay_ms }: Delay): number | { readonly problem: string } {
  if (delay !== undefined && delay_ms !== undefined) return { problem: "provide either delay or delay_ms, not both" };
  if (delay === undefined) return Math.min(delay_ms ?? 0, LONGEST_MS);
  const milliseconds = /d\s*$/i.test(delay) ? undefined : parseDuration(delay);
  return milliseconds ?? { problem: "invalid delay; use forms like 500ms, 2s, 1m, 1h" };
}

/**
 * Waits for the given delay.
 *
 * @throws ToolFailure when the delay is invalid; the signal's reason when the call is stopped meanwhile.
 */
export async function waitFirst(given: Delay, signal: AbortSignal): Promise<void> {
  const delay = readDelay(given);
  if (typeof delay === "object") throw new ToolFailure(delay.problem);
  if (delay > 0) await pause(delay, signal);
  signal.throwIfAborted();
}
