import type { Alarms } from "../../core/contract/containment.ts";

export interface AlarmOptions {
  /** How many refusals within a minute raise an alarm. Default 10; with 0 there are no alarms. */
  readonly perMinute?: number;
  /** The minimum time between two alarms, in milliseconds. Default 60,000. */
  readonly cooldownMs?: number;
  /** Returns the time of a monotonic clock, in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

const MINUTE_MS = 60_000;
/** The maximum number of refusals whose times are kept. */
const MOST = 1_000;

/**
 * Counts the sandbox's refusals. A few refusals are normal: a build writes where it may not. Many within a minute may
 * come from a program that tries to break out. Alarms only report.
 */
export function createAlarms({
  perMinute = 10,
  cooldownMs = MINUTE_MS,
  now = () => performance.now(),
}: AlarmOptions = {}): Alarms {
  let times: readonly number[] = [];
  let quietUntil = -Infinity;
  return (reported) => {
    const refusals = reported.filter((each) => each.kind !== "start-up" || each.isAside); // the others refuse nothing
    if (perMinute === 0 || refusals.length === 0) return undefined;
    const at = now();
    times = [...times.filter((time) => at - time < MINUTE_MS), ...refusals.map(() => at)].slice(-MOST);
    if (times.length < perMinute || at < quietUntil) return undefined;
    quietUntil = at + cooldownMs;
    return { refused: times.length, withinMs: Math.round(at - (times[0] ?? at)) };
  };
}
