import { statSync } from "node:fs";
import { namesIn } from "../../git/disk.ts";
import { systemProgram } from "../programs.ts";
import { textOf } from "../read-files.ts";

/** How long a count of the user's threads is valid, in milliseconds. */
const COUNT_LASTS = 5_000;

/** The part of the allowed processes that an early limit keeps in reserve. */
const RESERVE = 0.05;

export interface ProcessLimit {
  readonly words: readonly string[];
  holds(): boolean;
}

/**
 * Limits the number of processes with RLIMIT_NPROC. The kernel counts all threads of the user, so the limit is the
 * number that runs now plus `processes`.
 *
 * @returns a function that returns words before a command, and whether they still limit it as strictly as words made
 *   now; `undefined` for root, to whom the limit does not apply, and if prlimit (util-linux) is missing. `isEarly`: the
 *   command starts later. Its limit is a little lower, so that it holds when some of the user's processes have ended.
 */
export function processLimit(processes: number): ((isEarly: boolean) => ProcessLimit) | undefined {
  const user = process.getuid?.() ?? 0;
  const prlimit = systemProgram("prlimit");
  if (process.platform !== "linux" || user === 0 || prlimit === undefined) return undefined;
  const most = Number(/^Max processes\s+\S+\s+(\d+)/m.exec(textOf("/proc/self/limits"))?.[1] ?? Infinity);
  let [running, countedAt] = [threadsOf(user), performance.now()];
  const limitNow = () => {
    if (performance.now() - countedAt > COUNT_LASTS) [running, countedAt] = [threadsOf(user), performance.now()];
    return Math.min(running + processes, most);
  };
  const reserve = Math.ceil(processes * RESERVE);
  return (isEarly) => {
    const limit = limitNow() - (isEarly ? reserve : 0);
    return {
      words: [prlimit, `--nproc=${limit}:${limit}`],
      holds: () => limit <= limitNow() && limit >= limitNow() - 2 * reserve,
    };
  };
}

/** Counts the user's threads. A task folder has one link per thread, and two of its own. */
function threadsOf(user: number): number {
  const tasks = namesIn("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statSync(`/proc/${name}/task`, { throwIfNoEntry: false }));
  return tasks.reduce((sum, info) => sum + (info?.uid === user ? info.nlink - 2 : 0), 0);
}
