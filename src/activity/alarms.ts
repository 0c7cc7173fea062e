import type { Alarms } from "../contract/containment.ts";

export interface AlarmOptions {
  /** Refusals within a minute from which on there is an alarm. Default 10; 0: never. */
  readonly perMinute?: number;
  /** So long after an alarm there is no other. Milliseconds; default 60,000. */
  readonly cooldownMs?: number;
  /** Milliseconds of a clock that never goes back. Default: the process's. */
  readonly now?: () => number;
}

const MINUTE_MS = 60_000;
/** More are not remembered one by one. */
const MOST = 1_000;

/**
 * Watches what the sandbox refuses (seed 003's detector of unusual system calls): a command that is refused something now and then is a build
 * that writes where it may not; many in a minute are a program that tries its way out. It only says so.
 */
export function createAlarms({
  perMinute = 10,
  cooldownMs = MINUTE_MS,
  now = () => performance.now(),
}: AlarmOptions = {}): Alarms {
  let times: readonly number[] = [];
  let quietUntil = -Infinity;
  return (refusals) => {
    if (perMinute === 0 || refusals.length === 0) return undefined;
    const at = now();
    times = [...times.filter((time) => at - time < MINUTE_MS), ...refusals.map(() => at)].slice(-MOST);
    if (times.length < perMinute || at < quietUntil) return undefined;
    quietUntil = at + cooldownMs;
    return { refused: times.length, withinMs: Math.round(at - (times[0] ?? at)) };
  };
}
