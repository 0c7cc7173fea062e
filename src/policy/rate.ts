import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Decision } from "../core/contract/decision.ts";
import { isAct } from "../core/contract/effect.ts";
import type { Policy } from "../core/contract/policy.ts";
import { randomName } from "../core/util/identifier.ts";
import { createPrivateFile, isMissing } from "../core/util/private-file.ts";

const HOUR_MS = 3_600_000;
const STILL = "Read-only calls still work.";

export interface RateOptions {
  readonly max: number;
  /** The folder in which acts are counted. Processes with the same folder share the count, also one after another. */
  readonly folder: string;
  /** Milliseconds since 1970. Default: the current time. */
  readonly now?: () => number;
}

export interface RateLimit {
  /** Refuses acts when the hour is full, before an approval is asked for. Does not count the act. */
  readonly policy: Policy;
  /** Counts an act before it runs. Resolves to the reason if the act may not run; then it is not counted. */
  take(): Promise<string | undefined>;
}

/**
 * Creates a limit of `max` acts in a sliding hour. Each act is an empty file, named by its time. If several processes
 * claim the last place at once, all may be refused.
 *
 * @throws RangeError when `max` is not a whole number of 0 or more.
 */
export function createRateLimit({ max, folder, now = Date.now }: RateOptions): RateLimit {
  if (!Number.isInteger(max) || max < 0)
    throw new RangeError(`maxActionsPerHour ${max}: expected a whole number, 0 for none; leave it out for no limit`);
  let taking: Promise<unknown> = Promise.resolve();

  /** The times of the acts in the last hour, oldest first. Removes older acts. */
  const acts = async (): Promise<readonly number[]> => {
    const names = await readdir(folder).catch((error: unknown): string[] => {
      if (!isMissing(error)) throw error;
      return [];
    });
    const times: number[] = [];
    for (const name of names) {
      const at = Number(/^(\d+)-[0-9a-z]+$/.exec(name)?.[1] ?? Number.NaN);
      // A time in the future (the clock was set back) would count for longer than an hour.
      if (at > now() - HOUR_MS && at <= now() + HOUR_MS) times.push(at);
      else if (!Number.isNaN(at)) await unlink(join(folder, name)).catch(() => undefined);
    }
    return times.sort((one, other) => one - other);
  };

  const refusal = (times: readonly number[]): string => {
    if (max === 0) return `Rate limit exceeded: max_actions_per_hour is 0, so no acts are allowed. ${STILL}`;
    const next = (times[times.length - max] ?? now()) + HOUR_MS;
    const wait = inWords(next - now());
    return `Rate limit exceeded: ${max} in an hour (max_actions_per_hour). The next act is possible ${wait}. ${STILL}`;
  };

  const takeOne = async (): Promise<string | undefined> => {
    const before = max === 0 ? [] : await acts();
    if (before.length >= max) return refusal(before);
    const name = `${now()}-${randomName(12)}`;
    await (await createPrivateFile(folder, name)).close();
    const times = await acts(); // another process may have added one
    if (times.length <= max) return undefined;
    await unlink(join(folder, name));
    return refusal(before.length < max ? times.slice(0, -1) : before);
  };

  return {
    policy: async ({ effects }) => {
      if (!effects.some(isAct)) return undefined;
      const times = max === 0 ? [] : await acts();
      return times.length < max ? undefined : denied(refusal(times));
    },
    take() {
      const taken = taking.then(takeOne);
      taking = taken.catch(() => undefined);
      return taken;
    },
  };
}

function denied(reason: string): Decision {
  return { verdict: "deny", risk: "low", rule: "max_actions_per_hour", reason };
}

function inWords(milliseconds: number): string {
  const seconds = Math.max(1, Math.ceil(milliseconds / 1_000));
  return seconds < 120 ? `in ${seconds} s` : `in ${Math.ceil(seconds / 60)} minutes`;
}
