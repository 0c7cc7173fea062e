import { statSync } from "node:fs";
import { namesIn } from "../../../git/disk.ts";
import { systemProgram } from "../programs.ts";
import { textOf } from "../read-files.ts";

/** How long a count of the user's threads is valid, in milliseconds. */
const COUNT_LASTS = 5_000;

/**
 * Limits the number of processes with RLIMIT_NPROC. The kernel counts all threads of the user, so the limit is the
 * number that runs now plus `processes`.
 *
 * @returns `undefined` for root, to whom the limit does not apply, and if prlimit (util-linux) is missing.
 */
export function processLimit(
  processes: number,
): { /** Words before a command. */ words(): readonly string[] } | undefined {
  const user = process.getuid?.() ?? 0;
  const prlimit = systemProgram("prlimit");
  if (process.platform !== "linux" || user === 0 || prlimit === undefined) return undefined;
  const most = hardLimit();
  let running = threadsOf(user);
  let countedAt = performance.now();
  return {
    words() {
      if (performance.now() - countedAt > COUNT_LASTS) {
        running = threadsOf(user);
        countedAt = performance.now();
      }
      const limit = Math.min(running + processes, most);
      return [prlimit, `--nproc=${limit}:${limit}`];
    },
  };
}

function hardLimit(): number {
  const hard = /^Max processes\s+\S+\s+(\d+)/m.exec(textOf("/proc/self/limits"))?.[1];
  return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard);
}

/** Counts the user's threads. A task folder has one link per thread, and two of its own. */
function threadsOf(user: number): number {
  let threads = 0;
  for (const name of namesIn("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const tasks = statSync(`/proc/${name}/task`, { throwIfNoEntry: false });
    if (tasks?.uid === user) threads += tasks.nlink - 2;
  }
  return threads;
}
